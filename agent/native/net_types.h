#pragma once

// Asio types bound to the worker's own executor: no type erasure in the hot path.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "common/net.h"

namespace fetchbench::native {

using Executor = net::io_context::executor_type;
using Socket = net::basic_stream_socket<net::ip::tcp, Executor>;
using Endpoint = net::ip::tcp::endpoint;

template <typename T = void>
using Task = net::awaitable<T, Executor>;

inline constexpr auto kTuple = net::as_tuple(net::use_awaitable_t<Executor>{});

}  // namespace fetchbench::native
