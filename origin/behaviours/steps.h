#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "origin/exchange.h"

// Steps that behaviours of several families are made of.
namespace fetchbench::origin {

// Between bytes and a reset: a RST overtakes what the peer has not read yet.
inline constexpr Micros kLetItArrive = std::chrono::milliseconds(50);

// The head of the answer whose body is kHello.
inline constexpr std::string_view kHelloHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\n";

// "hello world\n" with a length; the connection stays open and may be used again.
Task<> ServeHello(Exchange exchange);

// Reads on and sends nothing until the client goes.
Task<> Hold(Exchange exchange);

// Writes each byte by itself, `pause` apart. False: the client is gone.
Task<bool> Drip(Exchange exchange, std::string bytes, Micros pause);

// Writes `piece` again and again, `pause` apart, `times` times at most or until the client goes.
Task<> Repeat(Exchange exchange, std::string piece, Micros pause, uint64_t times);

// Half of the body, then RST.
Task<> ResetInBody(Exchange exchange);

// The headers, then a byte of the body a second.
Task<> DripBody(Exchange exchange);

}  // namespace fetchbench::origin
