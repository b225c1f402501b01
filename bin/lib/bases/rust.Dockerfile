# The host's toolchain, in the context as rust/: no package registry carries a current one.
ARG BASE
FROM ${BASE}
RUN install-packages gcc libc6-dev
COPY rust/ /usr/local/rust/
ENV CARGO_HOME=/usr/local/cargo \
    PATH=/usr/local/cargo/bin:/usr/local/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
RUN cargo --version && echo 'fn main() {}' >/tmp/m.rs && rustc -o /tmp/m /tmp/m.rs && /tmp/m && rm /tmp/m /tmp/m.rs
