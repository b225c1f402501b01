#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "common/credentials.h"

namespace fetchbench {

// Mutual TLS for gRPC out of a credentials folder. An agent reads certificate, key and CA again
// when they change on disk, within kRenewalSeconds; connections that stand keep theirs. A
// coordinator reads them when it makes a channel.
//
// TLS versions: 1.3 alone. gRPC 1.51 has no setting for it and takes 1.2 too, so RequireTls13
// leaves 1.2 without a single cipher that could be used: both sides refuse it in the handshake.

inline constexpr unsigned kRenewalSeconds = 5;

// Before the first thread of the process, because it sets an environment variable that gRPC reads.
void RequireTls13();

// As the first use of OpenSSL in a program that uses gRPC. By default the end of main takes OpenSSL
// apart, beneath gRPC's own threads, which nobody joins and which may be in a handshake then: what
// they had allocated is lost to them, and what they use next is gone. The kernel takes it all back.
void KeepOpenSslUntilTheProcessIsGone();

// For an agent: asks for a certificate and takes those of operators of its own fleet only. Checked
// when a connection is made, before gRPC reads anything from it, and again at each call of whatever
// service: a certificate may have expired or been denied meanwhile. A refusal is logged.
std::shared_ptr<grpc::ServerCredentials> AgentServerCredentials(
    std::shared_ptr<const Credentials> credentials);

// For a channel to the host of that name, which its certificate must be for. A refusal is in the
// status of the channel's calls.
std::shared_ptr<grpc::ChannelCredentials> AgentChannelCredentials(
    std::shared_ptr<const Credentials> credentials, std::string host_name);

}  // namespace fetchbench
