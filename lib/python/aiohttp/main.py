"""Fetches the URLs on standard input with aiohttp; one line of result each on standard output."""

import asyncio
import json
import math
import os
import platform
import re
import socket
import ssl
import stat
import sys
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

import aiohttp

from failures import Fetch, classify, current, socket_factory, trace_phases

CONCURRENCY = int(os.environ.get("CONCURRENCY", "10"))
TIMEOUT = float(os.environ.get("REQUEST_TIMEOUT", "5"))
USER_AGENT = os.environ.get("USER_AGENT", "fetchbench")
CA_FILE = os.environ.get("CA_FILE")  # None: the system's certificates

# aiohttp gives up *at* this many redirects: the tenth is still followed.
MAX_REDIRECTS = 11
# Its defaults (8190 bytes, 128 headers) are less than what real sites send.
MAX_HEADER_BYTES = 64 * 1024
MAX_HEADERS = 1000
# Each is a thread of c-ares.
MAX_RESOLVERS = 128


class Clock:
    """Wall-clock times that are an anchor plus a steady clock, so that no adjustment shows in them."""

    def __init__(self) -> None:
        self._wall = datetime.now(UTC)
        self._steady = time.perf_counter()

    def utc(self, steady: float) -> str:
        moment = self._wall + timedelta(seconds=steady - self._steady)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class SlotResolver(aiohttp.abc.AbstractResolver):
    """The c-ares resolver of the slot that asks.

    getaddrinfo would need a thread for each name, and a few slow names would hold up all others. One c-ares
    for all would do, did it not fail every query on a socket when one answer there is malformed.
    """

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET):
        return await current.get().resolver.resolve(host, port, family)

    async def close(self) -> None:
        """Nothing to do: main() owns the resolvers."""


async def stdin_lines() -> AsyncIterator[bytes]:
    """Lines as they are asked for; a pipe that nobody asks is not read, and so stops its writer."""
    if stat.S_ISREG(os.fstat(0).st_mode):  # the event loop takes no files, and they never block
        for line in sys.stdin.buffer:
            yield line
        return
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async for line in reader:
        yield line


async def fetch(session: aiohttp.ClientSession, resolver: aiohttp.AsyncResolver, url: str) -> tuple[str, int]:
    """The status or failure, and how many bytes of body came."""
    with Fetch(resolver) as state:
        try:
            async with state.deadline(TIMEOUT):
                async with session.get(url, max_redirects=MAX_REDIRECTS) as response:
                    state.phase = "body"
                    async for chunk in response.content.iter_any():
                        state.body_bytes += len(chunk)
            return str(response.status), state.body_bytes
        except Exception as error:
            return classify(error, state), state.body_bytes


def one_field(text: str) -> str:
    return re.sub(r"[\s,\x00-\x1f\x7f]+", " ", text)[:300]


async def slot(session: aiohttp.ClientSession, resolver: aiohttp.AsyncResolver, lines: AsyncIterator[bytes],
               reading: asyncio.Lock, clock: Clock) -> None:
    """Takes a URL, fetches it, prints its line, and only then takes the next."""
    while True:
        async with reading:
            line = await anext(lines, None)
        if line is None:
            return
        raw = line.removesuffix(b"\n")
        if not raw:
            continue
        start = time.perf_counter()
        code, body_bytes = await fetch(session, resolver, raw.decode("utf-8", "replace"))
        duration = (time.perf_counter() - start) * 1000
        fields = f",{one_field(code)},{clock.utc(start)},{duration:.3f},{body_bytes}\n"
        sys.stdout.buffer.write(raw + fields.encode())
        sys.stdout.buffer.flush()


async def main() -> None:
    connector = aiohttp.TCPConnector(
        limit=CONCURRENCY,  # the default of 100 would make fetches queue unseen
        force_close=True,  # hosts are met once: an idle connection is only memory
        use_dns_cache=False,
        resolver=SlotResolver(),
        socket_factory=socket_factory,
        ssl=ssl.create_default_context(cafile=CA_FILE),
    )
    session = aiohttp.ClientSession(
        connector=connector,
        headers={"User-Agent": USER_AGENT, "Accept": "*/*", "Accept-Encoding": "identity"},
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),  # Fetch.deadline covers everything
        max_line_size=MAX_HEADER_BYTES,
        max_field_size=MAX_HEADER_BYTES,
        max_headers=MAX_HEADERS,
        trust_env=False,
        trace_configs=[trace_phases()],
    )
    # Once it has had answers, c-ares waits for as little as 250 ms, then about twice as long each time, 2.5 s at
    # least from the sixth on: its 3 tries would give up long before the deadline.
    tries = 5 + math.ceil(TIMEOUT / 2.5)
    # Arguments of their own also keep them from being one and the same inside.
    resolvers = [aiohttp.AsyncResolver(timeout=1.5, tries=tries) for _ in range(min(CONCURRENCY, MAX_RESOLVERS))]
    lines, reading, clock = stdin_lines(), asyncio.Lock(), Clock()
    async with session, asyncio.TaskGroup() as slots:
        for i in range(CONCURRENCY):
            slots.create_task(slot(session, resolvers[i % len(resolvers)], lines, reading, clock))
    for resolver in resolvers:
        await resolver.close()


def describe() -> str:
    libc = " ".join(platform.libc_ver()).strip() or "musl"
    return json.dumps({
        "name": "python/aiohttp",
        "runtime": f"{platform.python_implementation()} {platform.python_version()}",
        "libraries": [f"aiohttp {version('aiohttp')}", f"aiodns {version('aiodns')}",
                      f"pycares {version('pycares')}"],
        "tls_library": ssl.OPENSSL_VERSION,
        "libc": libc,
    })


if __name__ == "__main__":
    if sys.argv[1:] == ["--describe"]:
        print(describe())
    else:
        asyncio.run(main())
