// What really runs.
export function describe () {
  process.report.excludeNetwork = true
  const { glibcVersionRuntime } = process.report.getReport().header
  return {
    name: 'node/fetch',
    runtime: `Node.js ${process.versions.node}`,
    libraries: [`undici ${process.versions.undici}`, `libuv ${process.versions.uv}`],
    tls_library: `OpenSSL ${process.versions.openssl}`,
    libc: glibcVersionRuntime ? `glibc ${glibcVersionRuntime}` : 'musl'
  }
}
