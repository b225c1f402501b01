// The name of what ended a fetch.

/** How far a fetch has come. */
export interface Progress {
  headers: boolean;
  bodyBytes: number;
}

const outcomes: Record<string, string> = {
  ENOTFOUND: "dns_not_found",
  EAI_AGAIN: "dns_failure",
  EAI_FAIL: "dns_failure",
  ECONNREFUSED: "connect_refused",
  EHOSTUNREACH: "connect_unreachable",
  ENETUNREACH: "connect_unreachable",
  ECONNRESET: "connection_reset",
  EPROTO: "tls_handshake",
  ERR_TLS_CERT_ALTNAME_INVALID: "tls_certificate",
  ResponseHeadersTooLarge: "header_too_large",
  Malformed_HTTP_Response: "response_malformed",
  InvalidHTTPResponse: "response_malformed",
  InvalidContentLength: "response_malformed",
  UnsupportedTransferEncoding: "response_malformed",
  UnrequestedUpgrade: "response_malformed",
  TooManyRedirects: "redirect_limit",
  RedirectURLInvalid: "redirect_invalid",
  UnsupportedRedirectProtocol: "redirect_invalid",
  ERR_INVALID_URL: "invalid_url",
};
// What a certificate is refused for has OpenSSL's names: CERT_HAS_EXPIRED, UNABLE_TO_VERIFY_LEAF_SIGNATURE and so on.
const certificate = /CERT|SIGNATURE|ISSUER|CHAIN|PURPOSE/;

export function classify(error: unknown, progress: Progress): string {
  if (!(error instanceof Error)) return `client_error: ${error}`;
  const code = String((error as { code?: unknown }).code);
  return `${outcome(error.name, code, progress)}: ${code} ${error.message}`;
}

function outcome(name: string, code: string, progress: Progress): string {
  if (name === "TimeoutError") return progress.headers ? "timeout_in_body" : "timeout_before_headers";
  if (progress.headers && code === "ECONNRESET") return "body_truncated"; // a close is called a reset, too
  return outcomes[code] ?? (certificate.test(code) ? "tls_certificate" : "client_error");
}
