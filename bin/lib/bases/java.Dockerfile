ARG BASE
FROM ${BASE}
# The runtime first, so that Maven does not bring Debian's default one as well.
RUN apt-get update && apt-get install -y openjdk-25-jdk-headless ca-certificates-java && \
    apt-get install -y maven && apt-get clean
RUN javac --version && mvn --version
