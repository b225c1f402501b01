# Debian's Go is a year behind, but fetches any other as a module, checked like every module.
ARG BASE
FROM ${BASE} AS toolchain
RUN install-packages golang-go
ARG VERSION=go1.26.8
RUN GOTOOLCHAIN=$VERSION cp -r "$(GOTOOLCHAIN=$VERSION go env GOROOT)" /usr/local/go

FROM ${BASE}
COPY --from=toolchain /usr/local/go /usr/local/go
ENV PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin GOTOOLCHAIN=local
RUN go version
