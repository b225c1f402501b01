# The first stage is the same in node, deno and bun, so it runs once. Debian's npm fetches, by js/package-lock.json.
ARG BASE
FROM ${BASE} AS packages
RUN install-packages npm
WORKDIR /js
COPY js/ ./
RUN npm ci --ignore-scripts --no-audit --no-fund

FROM ${BASE}
COPY --from=packages /js/node_modules/@oven/bun-linux-x64/bin/bun /usr/local/bin/
RUN ln -s bun /usr/local/bin/bunx && bun --version
