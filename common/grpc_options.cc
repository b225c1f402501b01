#include "common/grpc_options.h"

#include <grpc/grpc.h>
#include <grpcpp/resource_quota.h>

namespace fetchbench {
namespace {

// The library shuts down with its last channel or server, on the thread that drops it, and there
// waits for threads of its own: at times until the next keepalive, ten seconds, in which our loop
// stands still. It stays up from the first use to the end of the process instead.
void KeepLibraryUp() { [[maybe_unused]] static const bool kUp = (grpc_init(), true); }

}  // namespace

grpc::ChannelArguments ClientChannelArguments() {
  KeepLibraryUp();
  grpc::ChannelArguments args;
  args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(kKeepalivePeriod.count()));
  args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(kKeepaliveTimeout.count()));
  args.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  args.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // 0: no limit
  // Without this, channels to one address share one connection: a second coordinator in one process
  // (a test) would see its neighbour's failures.
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // An agent is dialled directly; a proxy of the environment is meant for the web.
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  args.SetMaxReceiveMessageSize(kMaxMessageBytes);
  return args;
}

void ApplyServerOptions(grpc::ServerBuilder& builder) {
  KeepLibraryUp();
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                             static_cast<int>(kKeepalivePeriod.count()));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             static_cast<int>(kKeepaliveTimeout.count()));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             static_cast<int>(kShortestPingInterval.count()));
  // Two servers on one port would share the connections by chance; a second one must fail to bind.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(kHandshakeTimeout.count()));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
  // The bound above is on what has come; what it is unpacked to has none. We compress nothing.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  grpc::ResourceQuota quota("fetchbench");
  quota.Resize(kMaxServerBytes);
  builder.SetResourceQuota(quota);
}

}  // namespace fetchbench
