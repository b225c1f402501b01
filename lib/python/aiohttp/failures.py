"""How far a fetch has come, and the name of what ended it."""

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from contextvars import ContextVar

import aiodns.error as dns
import aiohttp
from aiohttp import http_exceptions

current: ContextVar["Fetch"] = ContextVar("current")

DNS_FAILURES = {
    dns.ARES_ENOTFOUND: "dns_not_found",
    dns.ARES_ENODATA: "dns_not_found",
    dns.ARES_ENONAME: "dns_not_found",
    dns.ARES_ETIMEOUT: "dns_timeout",  # c-ares gave up before our deadline did
    dns.ARES_EBADNAME: "invalid_url",
}

OS_FAILURES = {
    errno.ECONNREFUSED: "connect_refused",
    errno.EHOSTUNREACH: "connect_unreachable",
    errno.ENETUNREACH: "connect_unreachable",
    errno.EADDRNOTAVAIL: "connect_unreachable",
    errno.ETIMEDOUT: "connect_timeout",
    errno.ECONNRESET: "connection_reset",
    errno.EPIPE: "connection_reset",
}

TIMEOUTS = {"dns": "dns_timeout", "connect": "connect_timeout", "headers": "timeout_before_headers",
            "body": "timeout_in_body"}


class Fetch:
    """State of one fetch; the context variable `current` leads aiohttp's callbacks to it."""

    def __init__(self, resolver: aiohttp.AsyncResolver) -> None:
        self.resolver = resolver
        self.phase = "connect"
        self.body_bytes = 0
        self.sockets: list[socket.socket] = []  # of the connection attempts under way

    def __enter__(self) -> "Fetch":
        self._token = current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        current.reset(self._token)

    @asynccontextmanager
    async def deadline(self, seconds: float) -> AsyncIterator[None]:
        """Cancels what is inside after `seconds`, DNS and body included."""
        async with asyncio.timeout(None) as limit:
            loop = asyncio.get_running_loop()

            def strike() -> None:
                if self.phase == "connect" and any(map(is_connected, self.sockets)):
                    self.phase = "headers"  # what was late is TLS
                limit.reschedule(loop.time())

            timer = loop.call_later(seconds, strike)
            try:
                yield
            finally:
                timer.cancel()


def is_connected(sock: socket.socket) -> bool:
    try:
        sock.getpeername()
    except OSError:
        return False
    return True


def socket_factory(address: tuple) -> socket.socket:
    """The sockets of a fetch are known, for aiohttp's events do not tell connecting from the TLS handshake."""
    family, kind, protocol, _, _ = address
    sock = socket.socket(family, kind, protocol)
    current.get().sockets.append(sock)
    return sock


def trace_phases() -> aiohttp.TraceConfig:
    async def connecting(*_: object) -> None:
        state = current.get()
        state.phase = "connect"
        state.sockets.clear()

    async def resolving(*_: object) -> None:
        current.get().phase = "dns"

    async def connected(*_: object) -> None:
        state = current.get()
        state.phase = "headers"
        state.sockets.clear()

    trace = aiohttp.TraceConfig()
    trace.on_connection_create_start.append(connecting)
    trace.on_dns_resolvehost_start.append(resolving)
    trace.on_dns_resolvehost_end.append(connecting)
    trace.on_connection_create_end.append(connected)
    return trace


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, what caused it, and so on."""
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def classify(error: Exception, state: Fetch) -> str:
    chain = list(causes(error))
    for cause in chain:
        if name := outcome(cause, state):
            break
    else:
        name = "client_error"
    innermost = chain[-1]
    return f"{name}: {type(innermost).__name__}: {innermost}"


def outcome(error: BaseException, state: Fetch) -> str | None:
    """None: what caused it has to tell."""
    match error:
        case asyncio.TimeoutError():
            return TIMEOUTS[state.phase]
        case aiohttp.TooManyRedirects():
            return "redirect_limit"
        case aiohttp.RedirectClientError():
            return "redirect_invalid"
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError():
            return "invalid_url"
        case dns.DNSError():
            return DNS_FAILURES.get(error.args[0], "dns_failure")
        case ssl.CertificateError():  # alias of SSLCertVerificationError
            return "tls_certificate"
        case ssl.SSLError():
            return "tls_handshake" if state.phase == "connect" else "body_truncated"
        case http_exceptions.LineTooLong():
            return "header_too_large"
        case http_exceptions.ContentLengthError() | http_exceptions.TransferEncodingError():
            return "body_truncated"  # the C parser's TransferEncodingError: the end came inside a chunk
        case http_exceptions.BadHttpMessage():
            return "header_too_large" if "Too many headers" in error.message else "response_malformed"
        case aiohttp.ServerDisconnectedError() | ConnectionResetError():  # asyncio's has no errno
            return "connection_reset"
        case OSError():
            return OS_FAILURES.get(error.errno)
    return None
