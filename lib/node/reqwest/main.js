// Fetches each URL of standard input once with reqwest, a Rust library, and prints one line for each.
// The rules are in lib/CONTRACT.md.
import { createRequire } from 'node:module'

const { Fetcher, describe } = createRequire(import.meta.url)('./reqwest.node')

function readConfig (env) {
  const concurrency = Number(env.CONCURRENCY)
  if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
    throw new Error(`CONCURRENCY=${env.CONCURRENCY} is not an integer of at least 1`)
  }
  const timeout = Number(env.REQUEST_TIMEOUT) * 1000
  if (!(timeout > 0)) {
    throw new Error(`REQUEST_TIMEOUT=${env.REQUEST_TIMEOUT} is not a number of seconds`)
  }
  return { concurrency, timeout, userAgent: env.USER_AGENT ?? '', caFile: env.CA_FILE }
}

// Lines as they are wanted: the stream is read no further than somebody asks. (readline would also end
// lines at \r and U+2028.)
async function * lines (stream) {
  let rest = ''
  for await (const chunk of stream.setEncoding('utf8')) {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop()
    yield * parts
  }
  if (rest !== '') yield rest
}

function print ({ url, code, begin, duration, length }) {
  // performance's origin is the wall's anchor, its now() a steady clock
  const start = new Date(performance.timeOrigin + begin).toISOString()
  process.stdout.write(`${url},${code},${start},${duration.toFixed(3)},${length}\n`)
}

async function run ({ concurrency, ...options }) {
  const fetcher = new Fetcher(options)
  const urls = lines(process.stdin)
  const work = async () => {
    for await (const url of urls) {
      const begin = performance.now()
      const { code, length } = await fetcher.fetch(url)
      print({ url, code, begin, duration: performance.now() - begin, length })
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
}

function facts () {
  const { rust, libraries, tlsLibrary, tlsGroups } = describe()
  process.report.excludeNetwork = true
  const { glibcVersionRuntime } = process.report.getReport().header
  return {
    name: 'node/reqwest',
    runtime: `Node.js ${process.versions.node}`,
    libraries: [...libraries, `Rust ${rust}`],
    tls_library: tlsLibrary,
    tls_groups: tlsGroups,
    libc: glibcVersionRuntime ? `glibc ${glibcVersionRuntime}` : 'musl'
  }
}

if (process.argv[2] === '--describe') {
  console.log(JSON.stringify(facts()))
} else {
  await run(readConfig(process.env))
  process.exit() // lookups of fetches that are over may still block their threads
}
