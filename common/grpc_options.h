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

// What one message to a coordinator may have at most. A batch is cut at 256 KiB.
inline constexpr int kMaxMessageBytes = 16 << 20;
// What one message to an agent may have: a lease of 64 KiB of URLs and one of 64 KiB more, and the
// numbers of both; the largest piece of a folder or an image; a Start with certificates. No more
// than they need, because in memory it can be 30 times as much (a URL of nothing is a byte or two
// on its way), on every stream. What coordinators send is checked against it where it is cut.
inline constexpr int kMaxRequestBytes = 512 << 10;
// A piece of a target's folder, or of an image's archive, in such a message: below what a slow link
// takes within a write's deadline, several at once.
inline constexpr size_t kMaxPieceBytes = 256 << 10;
// Calls at once on one connection; a coordinator needs two.
inline constexpr int kMaxStreamsPerConnection = 8;
// For a client to say who it is and what it speaks; who does not is hung up on, so that strangers
// cannot hold connections for long.
inline constexpr std::chrono::milliseconds kHandshakeTimeout{30'000};
// Headers of a call.
inline constexpr int kMaxMetadataBytes = 16 << 10;
// What gRPC may hold for all connections of a server: what has come and is not a whole message yet.
// Messages that were read do not count, and headers went beyond it.
inline constexpr size_t kMaxServerBytes = 128 << 20;

// For grpc::CreateCustomChannel.
grpc::ChannelArguments ClientChannelArguments();

void ApplyServerOptions(grpc::ServerBuilder& builder);

}  // namespace fetchbench
