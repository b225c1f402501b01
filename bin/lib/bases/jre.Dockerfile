ARG BASE
FROM ${BASE}
RUN install-packages openjdk-25-jre-headless ca-certificates-java
RUN java --version
