#include "agent/other_calls.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "fetchbench/v1/agent.grpc.pb.h"

namespace fetchbench::agent {
namespace {

// Lives as long as its call.
class OneCall final : public grpc::experimental::Interceptor {
 public:
  OneCall(ConnectionBook& connections, grpc::experimental::ServerRpcInfo& info)
      : connections_(connections), info_(info) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using grpc::experimental::InterceptionHookPoints;
    // Before, it is not known whose it is.
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      use_.emplace(connections_.Begin(info_.server_context()->peer()));
    }
    methods->Proceed();
  }

 private:
  ConnectionBook& connections_;
  grpc::experimental::ServerRpcInfo& info_;
  std::optional<ConnectionBook::Use> use_;
};

// "/fetchbench.v1.Agent/Describe".
bool IsOurs(std::string_view method) {
  static const std::string kOurs = fmt::format("/{}/", v1::Agent::service_full_name());
  return method.starts_with(kOurs);
}

}  // namespace

grpc::experimental::Interceptor* OtherCalls::CreateServerInterceptor(
    grpc::experimental::ServerRpcInfo* info) {
  if (IsOurs(info->method())) return nullptr;
  return new OneCall(connections_, *info);  // gRPC owns it
}

}  // namespace fetchbench::agent
