ARG BASE
FROM ${BASE}
RUN install-packages python3 python3-pip python3-venv
# A container is no place to keep pip out of; the official image has `python` too.
RUN rm -f /usr/lib/python3*/EXTERNALLY-MANAGED && ln -s /usr/bin/python3 /usr/local/bin/python && python3 -m pip --version
