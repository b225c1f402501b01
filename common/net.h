#pragma once

// Asio by short names, and the coroutine type that all our asynchronous functions return. Include
// this instead of <boost/asio.hpp>: it keeps compile times down.

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>

namespace fetchbench {

namespace net = boost::asio;
using boost::system::error_code;

template <typename T = void>
using Task = net::awaitable<T>;

// `auto [ec, n] = co_await socket.async_read_some(buffer, kAsTuple);`: an error is a value, nothing
// is thrown.
inline constexpr auto kAsTuple = net::as_tuple(net::use_awaitable);

}  // namespace fetchbench
