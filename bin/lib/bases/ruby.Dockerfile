# RubyGems is not asked: the gems are Debian's, too.
ARG BASE
FROM ${BASE}
RUN apt-get update && apt-get install -y ruby ruby-async ruby-async-io ruby-http && apt-get clean
RUN ruby -e 'require "async"; require "http"; puts RUBY_VERSION, Async::VERSION, HTTP::VERSION'
