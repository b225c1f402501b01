ARG BASE
FROM ${BASE}
RUN apt-get update && apt-get install -y openjdk-25-jre-headless ca-certificates-java && apt-get clean
RUN java --version
