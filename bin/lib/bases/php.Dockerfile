ARG BASE
FROM ${BASE}
RUN install-packages php-cli php-curl
RUN php -r 'echo PHP_VERSION, " ", curl_version()["version"], "\n";'
