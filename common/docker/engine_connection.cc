#include "common/docker/engine_connection.h"

#include <fmt/format.h>

#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>
#include <chrono>
#include <utility>

namespace fetchbench::docker {
namespace {

absl::Status ConnectError(const std::string& what, const std::string& path, error_code error) {
  namespace errc = boost::system::errc;
  if (error == errc::no_such_file_or_directory) {
    return absl::UnavailableError(fmt::format(
        "{}: there is no socket {}: install and start the Docker Engine, or name its socket with "
        "DOCKER_HOST=unix://PATH",
        what, path));
  }
  if (error == errc::permission_denied) {
    return absl::PermissionDeniedError(fmt::format(
        "{}: no permission for {}: run as a user of the group that owns it (usually docker)", what,
        path));
  }
  if (error == errc::connection_refused) {
    return absl::UnavailableError(
        fmt::format("{}: nobody listens on {}: start the Docker Engine (dockerd)", what, path));
  }
  return absl::UnavailableError(
      fmt::format("{}: cannot connect to {}: {}", what, path, error.message()));
}

}  // namespace

EngineConnection::EngineConnection(const EnginePort& port, std::string what)
    : set_(port.open),
      path_(port.socket_path),
      what_(std::move(what)),
      socket_(port.loop),
      timer_(port.loop),
      opened_(std::chrono::steady_clock::now()) {
  set_->insert(this);
}

EngineConnection::~EngineConnection() { set_->erase(this); }

Task<absl::StatusOr<std::shared_ptr<EngineConnection>>> EngineConnection::Open(
    EnginePort port, std::string what, SteadyTime deadline) {
  // Longer ones do not fit a socket's address.
  constexpr size_t kMaxPath = 107;
  if (port.socket_path.empty()) {
    co_return absl::FailedPreconditionError(
        what + ": no Docker Engine: DOCKER_HOST names none that this program can use");
  }
  if (port.socket_path.size() > kMaxPath) {
    co_return absl::InvalidArgumentError(
        fmt::format("{}: '{}' is not the path of a Unix socket (1 to {} bytes)", what,
                    port.socket_path, kMaxPath));
  }
  auto connection = std::make_shared<EngineConnection>(port, std::move(what));
  connection->SetDeadline(deadline);
  const net::local::stream_protocol::endpoint endpoint(port.socket_path);
  const auto [error] = co_await connection->socket_.async_connect(endpoint, kAsTuple);
  if (error && (connection->timed_out_ || connection->cancelled_)) {
    co_return connection->Explain(error);
  }
  if (error) co_return ConnectError(connection->what_, connection->path_, error);
  co_return connection;
}

void EngineConnection::SetDeadline(SteadyTime deadline) {
  timer_.cancel();
  if (deadline == SteadyTime::max()) return;
  timer_.expires_at(deadline);
  timer_.async_wait([weak = weak_from_this(), deadline](error_code error) {
    const auto self = weak.lock();
    // One that was put off while this was on its way says nothing.
    if (error || !self || self->timer_.expiry() != deadline) return;
    self->timed_out_ = true;
    self->Close();
  });
}

void EngineConnection::Close() {
  error_code ignored;
  timer_.cancel();
  socket_.close(ignored);
}

void EngineConnection::Cancel() {
  cancelled_ = true;
  Close();
}

absl::Status EngineConnection::Explain(error_code error) const {
  if (cancelled_) return absl::CancelledError(what_ + ": given up");
  if (timed_out_) {
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - opened_);
    return absl::DeadlineExceededError(fmt::format(
        "{}: the Docker Engine at {} did not answer within {} ms", what_, path_, waited.count()));
  }
  return absl::UnavailableError(fmt::format(
      "{}: the connection to the Docker Engine at {} broke: {}", what_, path_, error.message()));
}

}  // namespace fetchbench::docker
