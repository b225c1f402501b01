# For hosts without a Rust toolchain of their own.
ARG BASE
FROM ${BASE}
RUN install-packages gcc libc6-dev rustc cargo
ENV CARGO_HOME=/usr/local/cargo
RUN cargo --version && echo 'fn main() {}' >/tmp/m.rs && rustc -o /tmp/m /tmp/m.rs && /tmp/m && rm /tmp/m /tmp/m.rs
