#include "coordinator/fleet/agent_channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "common/grpc_options.h"
#include "common/grpc_tls.h"
#include "common/loopback.h"
#include "coordinator/fleet/agent_credentials.h"

namespace fetchbench::coordinator {
namespace {

std::shared_ptr<grpc::ChannelCredentials> ChannelCredentialsFor(const AgentEndpoint& endpoint) {
  if (IsUnixSocket(endpoint.address)) return grpc::InsecureChannelCredentials();
  if (endpoint.credentials) {
    return AgentChannelCredentials(endpoint.credentials, CertificateName(endpoint));
  }
  if (StaysOnThisMachine(endpoint.address)) return grpc::InsecureChannelCredentials();
  // Whoever forgot EquipAgents gets no connection, instead of one that everybody on the way reads.
  return grpc::SslCredentials({});
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeAgentChannel(const AgentEndpoint& endpoint) {
  grpc::ChannelArguments arguments = ClientChannelArguments();
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  // Each session is a connection of its own, so that one that broke is not found again in a pool.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // The handshake asks for the host by the name that its certificate has, not by what is dialled:
  // gRPC on the other side warns of a name that is not its own.
  if (endpoint.credentials) arguments.SetSslTargetNameOverride(CertificateName(endpoint));
  return grpc::CreateCustomChannel(endpoint.address, ChannelCredentialsFor(endpoint), arguments);
}

}  // namespace fetchbench::coordinator
