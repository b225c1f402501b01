// Names the outcome of lib/CONTRACT.md that an error is: by its code, and by the phase that it came in.
export function classify (error, { phase }, late) {
  const code = error.code ?? error.name
  if (late) return timeouts[phase]
  if (phase === 'url') return 'invalid_url'
  if (codes[code] !== undefined) return codes[code]
  if (code === 'ERR_INVALID_URL') return 'redirect_invalid'
  if (code === 'UND_ERR_INVALID_ARG') {
    // undici stops at the first URL that comes twice, and has no code of its own for it
    return error.message.startsWith('Redirect loop') ? 'redirect_limit' : 'redirect_invalid'
  }
  if (phase === 'tls') return classifyTls(code)
  if (code === 'UND_ERR_SOCKET') return phase === 'body' ? 'body_truncated' : 'connection_reset'
  if (code.startsWith('HPE_')) return 'response_malformed'
  return 'client_error'
}

const timeouts = {
  url: 'dns_timeout',
  dns: 'dns_timeout',
  connect: 'connect_timeout',
  tls: 'timeout_before_headers',
  headers: 'timeout_before_headers',
  body: 'timeout_in_body'
}

const codes = {
  ENOTFOUND: 'dns_not_found',
  EAI_AGAIN: 'dns_failure',
  EAI_FAIL: 'dns_failure',
  ECONNREFUSED: 'connect_refused',
  EHOSTUNREACH: 'connect_unreachable',
  ENETUNREACH: 'connect_unreachable',
  ETIMEDOUT: 'connect_timeout',
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  ECONNRESET: 'connection_reset',
  EPIPE: 'connection_reset',
  UND_ERR_HEADERS_OVERFLOW: 'header_too_large',
  HPE_HEADER_OVERFLOW: 'header_too_large',
  HTTPParserError: 'response_malformed', // its code is not always set
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'response_malformed', // complete, but not by what Content-Length says
  UND_ERR_REDIRECT_MAX: 'redirect_limit'
}

function classifyTls (code) {
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return 'tls_handshake'
  return /CERT|CRL|UNABLE_TO|PURPOSE|HOSTNAME/.test(code) ? 'tls_certificate' : 'tls_handshake'
}
