// Fetches the URLs on standard input with Bun's fetch; one line of result each on standard output.

import { classify, type Progress } from "./failures.ts";

const concurrency = Number(process.env.CONCURRENCY ?? "10");
const timeoutMs = Number(process.env.REQUEST_TIMEOUT ?? "5") * 1000;
const options = {
  headers: {
    "User-Agent": process.env.USER_AGENT ?? "fetchbench",
    "Accept": "*/*",
    "Accept-Encoding": "identity",
  },
  protocol: "http1.1",
  decompress: false,
  keepalive: false, // hosts are met once: an idle connection is only memory
  maxRedirects: 10,
  ...(process.env.CA_FILE && { tls: { ca: Bun.file(process.env.CA_FILE) } }),
} as const;

// Wall-clock times that are an anchor plus a steady clock, so that no adjustment shows in them.
const utc = (steady: number) => new Date(performance.timeOrigin + steady).toISOString();

const oneField = (text: string) => text.replace(/[\s,\p{Cc}]+/gu, " ").slice(0, 300);

/** The status or failure, and how many bytes of body came. */
async function fetchOne(url: string): Promise<[string, number]> {
  const progress: Progress = { headers: false, bodyBytes: 0 };
  try {
    // One signal for all: names, connecting, redirects and the body.
    const response = await fetch(url, { ...options, signal: AbortSignal.timeout(timeoutMs) });
    progress.headers = true;
    for await (const chunk of response.body ?? []) progress.bodyBytes += chunk.length;
    return [String(response.status), progress.bodyBytes];
  } catch (error) {
    return [classify(error, progress), progress.bodyBytes];
  }
}

/** Takes a URL, fetches it, prints its line, and only then takes the next. */
async function slot(urls: AsyncIterable<string>) {
  for await (const url of urls) {
    if (!url) continue;
    const start = performance.now();
    const [code, bodyBytes] = await fetchOne(url);
    const duration = (performance.now() - start).toFixed(3);
    console.log(`${url},${oneField(code)},${utc(start)},${duration},${bodyBytes}`);
  }
}

if (process.argv[2] === "--describe") {
  const glibc = (process.report.getReport() as { header: { glibcVersionRuntime?: string } }).header.glibcVersionRuntime;
  console.log(JSON.stringify({
    name: "bun/fetch",
    runtime: `Bun ${Bun.version}`,
    libraries: ["fetch", `WebKit ${process.versions.webkit.slice(0, 12)}`],
    tls_library: `BoringSSL ${process.versions.boringssl.slice(0, 12)}`,
    libc: glibc ? `glibc ${glibc}` : "musl",
  }));
} else {
  const lines = console[Symbol.asyncIterator]();
  // Handing out next() alone: a slot that ends must not close what the others read.
  const urls = { [Symbol.asyncIterator]: () => ({ next: () => lines.next() }) };
  await Promise.all(Array.from({ length: concurrency }, () => slot(urls)));
}
