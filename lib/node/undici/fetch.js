import { Agent, buildConnector, DecoratorHandler, interceptors, request } from 'undici'
import { classify } from './classify.js'

const redirect = interceptors.redirect({ maxRedirections: 10, throwOnMaxRedirect: true })

// The deadline is the signal's alone; undici's own timers are off.
const agentOptions = {
  headersTimeout: 0,
  bodyTimeout: 0,
  pipelining: 0, // no keep-alive: every host is met once
  allowH2: false,
  maxHeaderSize: 256 * 1024
}
const connect = buildConnector({ allowH2: false, timeout: 0, maxCachedSessions: 0 })

export function createFetcher ({ timeout, userAgent }) {
  const headers = { 'user-agent': userAgent, accept: '*/*', 'accept-encoding': 'identity' }

  return async function fetch (url) {
    const begin = performance.now()
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(new DOMException('deadline', 'TimeoutError')), timeout)
    const progress = { phase: 'url', socket: null }
    const result = { url, code: '', begin, duration: 0, length: 0 }
    try {
      const dispatcher = agentThatTells(progress)
      const { statusCode, body } = await request(url, { dispatcher, headers, signal: controller.signal })
      for await (const chunk of body) result.length += chunk.length
      result.code = String(statusCode)
    } catch (error) {
      const late = controller.signal.aborted
      result.code = `${classify(error, progress, late)}: ${plain(error)}`
    } finally {
      clearTimeout(timer)
      progress.socket?.destroy()
    }
    result.duration = performance.now() - begin
    return result
  }
}

// An agent of the fetch's own, so that its connector knows whose socket it makes: which phase the fetch is
// in is told by the socket's events, and the socket can be closed even while it connects.
function agentThatTells (progress) {
  return new Agent({
    ...agentOptions,
    connect (options, callback) {
      progress.phase = 'dns'
      progress.socket?.destroy() // of the redirect before
      progress.socket = connect(options, callback)
        .once('connectionAttempt', () => { progress.phase = 'connect' })
        .once('connect', () => { progress.phase = options.protocol === 'https:' ? 'tls' : 'headers' })
        .once('secureConnect', () => { progress.phase = 'headers' })
      return progress.socket
    }
  }).compose(tellHeaders(progress), redirect)
}

// Below the redirects, so that it sees the headers of each answer.
const tellHeaders = (progress) => (dispatch) => (options, handler) =>
  dispatch(options, new HeadersTeller(handler, progress))

class HeadersTeller extends DecoratorHandler {
  #progress

  constructor (handler, progress) {
    super(handler)
    this.#progress = progress
  }

  onResponseStart (controller, statusCode, headers, statusMessage) {
    if (statusCode >= 200) this.#progress.phase = 'body'
    return super.onResponseStart(controller, statusCode, headers, statusMessage)
  }
}

function plain (error) {
  const { code, message } = error.cause ?? error
  return `${code ?? error.name} ${message}`.replaceAll(',', ';').replace(/\s+/g, ' ')
}
