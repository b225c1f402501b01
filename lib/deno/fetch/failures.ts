// The name of what ended a fetch.

/** How far a fetch has come. */
export interface Progress {
  headers: boolean;
  bodyBytes: number;
}

// Deno's errors are all TypeErrors without a code: only hyper's, rustls' and the C library's words tell them apart.
const outcomes: [RegExp, string][] = [
  [/dns error:.*(not known|no address|not resolve|no usable address)/i, "dns_not_found"],
  [/dns error:/, "dns_failure"],
  [/invalid peer certificate/, "tls_certificate"],
  [/fatal alert|peer is incompatible|peer misbehaved|corrupt message|tls handshake eof/, "tls_handshake"],
  [/Connection refused/, "connect_refused"],
  [/unreachable|No route to host/, "connect_unreachable"],
  [/Connection reset|Broken pipe|connection closed before message completed/, "connection_reset"],
  [/message head is too large/, "header_too_large"],
  [/client error \(SendRequest\).* parsed$/, "response_malformed"],
  [/Maximum number of redirects/, "redirect_limit"],
  [/Can not redirect to|Invalid URL: .* with base/, "redirect_invalid"],
  [/Invalid URL/, "invalid_url"],
];

export function classify(error: unknown, progress: Progress): string {
  const { name, text } = innermost(error);
  return `${outcome(name, text, progress)}: ${text}`;
}

function innermost(error: unknown): { name: string; text: string } {
  if (!(error instanceof Error)) return { name: "", text: String(error) };
  if (error.cause instanceof Error) return innermost(error.cause);
  return { name: error.name, text: error.message };
}

function outcome(name: string, text: string, progress: Progress): string {
  if (name === "TimeoutError") return progress.headers ? "timeout_in_body" : "timeout_before_headers";
  if (progress.headers) return "body_truncated"; // Deno says nothing more about bodies
  return outcomes.find(([words]) => words.test(text))?.[1] ?? "client_error";
}
