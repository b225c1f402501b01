import { createRequire } from 'node:module'

// What really runs.
export function describe () {
  const { version } = createRequire(import.meta.url)('undici/package.json')
  process.report.excludeNetwork = true
  const { glibcVersionRuntime } = process.report.getReport().header
  return {
    name: 'node/undici',
    runtime: `Node.js ${process.versions.node}`,
    libraries: [`undici ${version}`, `libuv ${process.versions.uv}`],
    tls_library: `OpenSSL ${process.versions.openssl}`,
    libc: glibcVersionRuntime ? `glibc ${glibcVersionRuntime}` : 'musl'
  }
}
