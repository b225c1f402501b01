// Fetches the URLs on standard input with Deno's fetch; one line of result each on standard output.

import { classify, type Progress } from "./failures.ts";

const concurrency = Number(Deno.env.get("CONCURRENCY") ?? "10");
const timeoutMs = Number(Deno.env.get("REQUEST_TIMEOUT") ?? "5") * 1000;
const headers = {
  "User-Agent": Deno.env.get("USER_AGENT") ?? "fetchbench",
  "Accept": "*/*",
  "Accept-Encoding": "identity",
};
const caFile = Deno.env.get("CA_FILE");

// Wall-clock times that are an anchor plus a steady clock, so that no adjustment shows in them.
const utc = (steady: number) => new Date(performance.timeOrigin + steady).toISOString();

/** Lines as they are asked for; a pipe that nobody asks is not read, and so stops its writer. */
async function* lines(input: ReadableStream<Uint8Array>) {
  let rest = "";
  for await (const text of input.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split("\n");
    rest = parts.pop()!;
    yield* parts;
  }
  if (rest) yield rest;
}

const oneField = (text: string) => text.replace(/[\s,\p{Cc}]+/gu, " ").slice(0, 300);

/** The status or failure, and how many bytes of body came. */
async function fetchOne(client: Deno.HttpClient, url: string): Promise<[string, number]> {
  const progress: Progress = { headers: false, bodyBytes: 0 };
  try {
    // One signal for all: names, connecting, redirects and the body.
    const response = await fetch(url, { client, headers, signal: AbortSignal.timeout(timeoutMs) });
    progress.headers = true;
    for await (const chunk of response.body ?? []) progress.bodyBytes += chunk.length;
    return [String(response.status), progress.bodyBytes];
  } catch (error) {
    return [classify(error, progress), progress.bodyBytes];
  }
}

/** Takes a URL, fetches it, prints its line, and only then takes the next. */
async function slot(client: Deno.HttpClient, urls: AsyncIterable<string>) {
  for await (const url of urls) {
    if (!url) continue;
    const start = performance.now();
    const [code, bodyBytes] = await fetchOne(client, url);
    const duration = (performance.now() - start).toFixed(3);
    console.log(`${url},${oneField(code)},${utc(start)},${duration},${bodyBytes}`);
  }
}

if (Deno.args[0] === "--describe") {
  console.log(JSON.stringify({
    name: "deno/fetch",
    runtime: `Deno ${Deno.version.deno}`,
    libraries: ["fetch", `V8 ${Deno.version.v8}`],
    tls_library: "rustls",
    libc: Deno.build.target.endsWith("gnu") ? "glibc" : "musl",
  }));
} else {
  const client = Deno.createHttpClient({
    caCerts: caFile ? [await Deno.readTextFile(caFile)] : [],
    http2: false,
    poolMaxIdlePerHost: 0, // hosts are met once: an idle connection is only memory
  });
  const source = lines(Deno.stdin.readable);
  // Handing out next() alone: a slot that ends must not close what the others read.
  const urls = { [Symbol.asyncIterator]: () => ({ next: () => source.next() }) };
  await Promise.all(Array.from({ length: concurrency }, () => slot(client, urls)));
}
