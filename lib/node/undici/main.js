// Fetches each URL of standard input once with undici's request and prints one line for each.
// The rules are in lib/CONTRACT.md.
import { describe } from './describe.js'
import { createFetcher } from './fetch.js'

function readConfig (env) {
  const concurrency = Number(env.CONCURRENCY)
  if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
    throw new Error(`CONCURRENCY=${env.CONCURRENCY} is not an integer of at least 1`)
  }
  const timeout = Number(env.REQUEST_TIMEOUT) * 1000
  if (!(timeout > 0)) {
    throw new Error(`REQUEST_TIMEOUT=${env.REQUEST_TIMEOUT} is not a number of seconds`)
  }
  return { concurrency, timeout, userAgent: env.USER_AGENT ?? '' }
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

async function run ({ concurrency, timeout, userAgent }) {
  // Each lookup takes a thread, names that do not answer take it beyond the deadline, and only half of
  // the threads are for lookups.
  process.env.UV_THREADPOOL_SIZE ??= String(Math.min(4 * concurrency, 1024))
  const fetch = createFetcher({ timeout, userAgent })
  const urls = lines(process.stdin)
  const work = async () => {
    for await (const url of urls) print(await fetch(url))
  }
  await Promise.all(Array.from({ length: concurrency }, work))
}

if (process.argv[2] === '--describe') {
  console.log(JSON.stringify(describe()))
} else {
  await run(readConfig(process.env))
  process.exit() // lookups of fetches that are over may still hold the thread pool
}
