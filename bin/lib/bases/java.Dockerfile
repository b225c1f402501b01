# The same first step as in jre, so it runs once.
ARG BASE
FROM ${BASE}
RUN install-packages openjdk-25-jre-headless ca-certificates-java
RUN install-packages openjdk-25-jdk-headless
RUN javac --version
