#include "agent/server.h"

#include <fmt/format.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server_builder.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "agent/agent_metrics.h"
#include "agent/listen_address.h"
#include "agent/listener.h"
#include "agent/other_calls.h"
#include "common/grpc_options.h"
#include "common/grpc_tls.h"
#include "common/spawn.h"

namespace fetchbench::agent {
namespace {

// For streams to end by themselves; then they are cancelled.
constexpr std::chrono::milliseconds kStreamGrace{500};
// How old the figures of a scrape may be.
constexpr std::chrono::milliseconds kMetricsInterval{1'000};

}  // namespace

AgentServer::AgentServer(AgentConfig config)
    : loop_("agent-loop"),
      keeper_(std::move(config), clock_, loop_.executor()),
      service_(keeper_, loop_.executor(), connections_),
      metrics_timer_(loop_.context()) {}

AgentServer::~AgentServer() { Stop(); }

absl::StatusOr<std::unique_ptr<AgentServer>> AgentServer::Start(AgentConfig config,
                                                                const std::string& listen,
                                                                const std::string& credentials) {
  // Before credentials are asked for: an address that is none needs no certificate.
  const auto address = ParseListenAddress(listen);
  if (!address.ok()) return address.status();
  const auto security = SecureListener(listen, credentials, kDefaultCredentials);
  if (!security.ok()) return security.status();
  config.credentials = security->credentials;
  config.no_containers = security->no_containers;
  std::unique_ptr<AgentServer> server(new AgentServer(std::move(config)));
  if (absl::Status s = server->ServeMetrics(); !s.ok()) return s;
  if (absl::Status s = server->Listen(*address, *security); !s.ok()) return s;
  return server;
}

absl::Status AgentServer::ServeMetrics() {
  const std::string& address = keeper_.config().metrics;
  if (address.empty()) return absl::OkStatus();
  auto metrics = MetricsServer::Start(address);
  if (!metrics.ok()) return metrics.status();
  metrics_ = *std::move(metrics);
  Spawn(loop_.executor(), "metrics", PublishMetrics());
  return absl::OkStatus();
}

Task<> AgentServer::PublishMetrics() {
  while (!stopping_) {
    metrics_->Publish(AgentPage(keeper_, connections_.counts(), clock_));
    metrics_timer_.expires_after(kMetricsInterval);
    co_await metrics_timer_.async_wait(kAsTuple);
  }
}

absl::Status AgentServer::Listen(ListenAddress address, const ListenSecurity& security) {
  const bool is_unix = !address.socket_path.empty();
  if (is_unix) {
    if (absl::Status s = PrepareSocketFolder(address.socket_path); !s.ok()) return s;
  }
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  absl::StatusOr<std::vector<Fd>> listeners = OpenListeners(address);
  if (!listeners.ok()) return listeners.status();
  if (is_unix) socket_path_ = address.socket_path;
  address_ = address.Text();
  grpc::ServerBuilder builder;
  ApplyServerOptions(builder);
  auto door = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      security.credentials ? AgentServerCredentials(security.credentials)
                           : grpc::InsecureServerCredentials());
  builder.RegisterService(&service_);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> creators;
  creators.push_back(std::make_unique<OtherCalls>(connections_));
  builder.experimental().SetInterceptorCreators(std::move(creators));
  server_ = builder.BuildAndStart();
  // gRPC says the reason in its own log only.
  if (server_ == nullptr) return absl::InternalError("gRPC did not start; its log says why");
  door_.emplace(*std::move(listeners), std::move(door), connections_);
  WatchMemory();
  net::post(loop_.context(), [this] { keeper_.CleanUp(); });
  return absl::OkStatus();
}

void AgentServer::WatchMemory() {
  const uint64_t limit = keeper_.config().memory_limit_bytes;
  if (limit == 0) return;
  MemoryActions actions;
  actions.hang_up = [this](uint64_t bytes) {
    net::post(loop_.context(), [this, bytes] { keeper_.HungUpForMemory(bytes); });
    return connections_.HangUp();
  };
  actions.let_in = [this] { connections_.LetIn(); };
  actions.drop_run = [this](uint64_t bytes) {
    net::post(loop_.context(), [this, bytes] { keeper_.DropRunForMemory(bytes); });
  };
  actions.give_up = [this] {
    if (keeper_.config().give_up) keeper_.config().give_up();
  };
  watch_.emplace(limit, keeper_.config().memory_patience, std::move(actions));
}

void AgentServer::Stop() {
  watch_.reset();
  door_.reset();
  if (server_) {
    server_->GetHealthCheckService()->SetServingStatus(false);
    // First the run and its stream end on the loop, then the server: its Shutdown waits for streams
    // that only the loop can finish, so it must not be called there.
    std::promise<void> done;
    net::post(loop_.context(), [this, &done] {
      keeper_.ShutDown();
      done.set_value();
    });
    done.get_future().wait();
    server_->Shutdown(std::chrono::system_clock::now() + kStreamGrace);
    server_->Wait();
    server_.reset();
    if (!socket_path_.empty()) unlink(socket_path_.c_str());
  }
  net::post(loop_.context(), [this] {
    stopping_ = true;
    metrics_timer_.cancel();
  });
  loop_.Join();
}

}  // namespace fetchbench::agent
