ARG BASE
FROM ${BASE}
# The runtime first, so that Maven does not bring Debian's default one as well.
RUN install-packages openjdk-25-jdk-headless ca-certificates-java && install-packages maven
RUN javac --version && mvn --version
