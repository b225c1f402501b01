#pragma once

#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>

namespace fetchbench {

// Keepalive and message sizes of both sides in one place, because they must agree: a server that is
// pinged more often than it permits ends the connection with "too_many_pings".

// A silent peer is noticed after kKeepalivePeriod + kKeepaliveTimeout at most.
inline constexpr std::chrono::milliseconds kKeepalivePeriod{10'000};
inline constexpr std::chrono::milliseconds kKeepaliveTimeout{5'000};
// Below the client's period, so that no ping counts as too early.
inline constexpr std::chrono::milliseconds kShortestPingInterval{5'000};

// What one message may have at most. A batch is cut at 256 KiB; a lease may hold a few URLs of 1
// MB.
inline constexpr int kMaxMessageBytes = 16 << 20;
// Calls at once on one connection; a coordinator needs two.
inline constexpr int kMaxStreamsPerConnection = 16;
// For a client to say who it is and what it speaks; who does not is hung up on, so that strangers
// cannot hold connections for long.
inline constexpr std::chrono::milliseconds kHandshakeTimeout{30'000};
// Headers of a call.
inline constexpr int kMaxMetadataBytes = 16 << 10;
// What a server's connections may hold together.
inline constexpr size_t kMaxServerBytes = 512 << 20;

// For grpc::CreateCustomChannel.
grpc::ChannelArguments ClientChannelArguments();

void ApplyServerOptions(grpc::ServerBuilder& builder);

}  // namespace fetchbench
