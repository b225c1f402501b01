# RubyGems is not asked: the gems are Debian's, too.
ARG BASE
FROM ${BASE}
RUN install-packages ruby ruby-async ruby-async-io ruby-http
RUN ruby -e 'require "async"; require "http"; puts RUBY_VERSION, Async::VERSION, HTTP::VERSION'
