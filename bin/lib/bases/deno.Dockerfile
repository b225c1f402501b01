# The first stage is the same in node, deno and bun, so it runs once. Debian's npm fetches, by js/package-lock.json.
ARG BASE
FROM ${BASE} AS packages
RUN install-packages npm
WORKDIR /js
COPY js/ ./
RUN npm ci --ignore-scripts --no-audit --no-fund

FROM ${BASE}
COPY --from=packages /js/node_modules/@deno/linux-x64-glibc/deno /usr/local/bin/
RUN deno --version
