import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import { classify, codeOf } from './classify.js'

// Node.js' own fetch takes no dispatcher but undici's, which would be another fetch. So nothing here keeps it
// from offering h2 to a server, or from following 20 redirects.
//
// fetch does not tell which phase it is in. Its sockets do: each is made in the asynchronous context of
// the fetch that it is for.
const storage = new AsyncLocalStorage()
subscribe('net.client.socket', ({ socket }) => {
  const progress = storage.getStore()
  if (progress === undefined) return
  progress.phase = 'dns'
  socket
    .once('connectionAttempt', () => { progress.phase = 'connect' })
    .once('connect', () => { progress.phase = socket.encrypted ? 'tls' : 'headers' })
    .once('secureConnect', () => { progress.phase = 'headers' })
})

export function createFetcher ({ timeout, userAgent }) {
  const headers = {
    'user-agent': userAgent,
    accept: '*/*',
    'accept-encoding': 'identity',
    connection: 'close' // every host is met once
  }

  return async function timedFetch (url) {
    const begin = performance.now()
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(new DOMException('deadline', 'TimeoutError')), timeout)
    const progress = { phase: 'url' }
    const result = { url, code: '', begin, duration: 0, length: 0 }
    try {
      const response = await storage.run(progress, fetch, url, { headers, signal: controller.signal })
      progress.phase = 'body'
      for await (const chunk of response.body ?? []) result.length += chunk.length
      result.code = String(response.status)
    } catch (error) {
      const cause = error.cause ?? error
      result.code = `${classify(cause, progress, controller.signal.aborted)}: ${plain(cause)}`
    } finally {
      clearTimeout(timer)
    }
    result.duration = performance.now() - begin
    return result
  }
}

function plain (error) {
  return `${codeOf(error)} ${error.message}`.replaceAll(',', ';').replace(/\s+/g, ' ')
}
