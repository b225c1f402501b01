#include "agent/native/cares_resolver.h"

#include <arpa/nameser.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/status/status.h"
#include "agent/native/dns_answer.h"
#include "agent/native/errors.h"

namespace fetchbench::native {
namespace {

constexpr int kReceiveBuffer = 4 * 1024 * 1024;  // the kernel cuts it to net.core.rmem_max

// A server may close its TCP connection over queries that it has not answered: those are sent
// again. One that nobody listens at refuses them all.
constexpr int kMaxSent = 3;

// A query is repeated after one and after three sevenths of the deadline, so the last copy has as
// long as the first two together; but never sooner than an ordinary resolver takes for a hard name.
constexpr int kParts = 7;
constexpr std::chrono::milliseconds kMinRepeat{500};

}  // namespace

absl::StatusOr<std::unique_ptr<CaresResolver>> CaresResolver::Create(
    net::io_context& io, const std::string& server, std::chrono::milliseconds timeout) {
  std::unique_ptr<CaresResolver> resolver(new CaresResolver(io, server, timeout));
  if (const absl::Status s = resolver->OpenChannel(); !s.ok()) return s;
  return resolver;
}

CaresResolver::CaresResolver(net::io_context& io, std::string server,
                             std::chrono::milliseconds timeout)
    : io_(io), server_(std::move(server)), timeout_(timeout) {
  const auto part = std::max(kMinRepeat, timeout / kParts);
  repeats_[0].after = part;
  repeats_[1].after = 3 * part;
}

CaresResolver::~CaresResolver() { CloseChannel(); }

absl::Status CaresResolver::OpenChannel() {
  ares_options options{};
  options.flags = ARES_FLAG_STAYOPEN | ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES;
  options.timeout = static_cast<int>(timeout_.count()) + 1;
  options.tries = 1;
  options.ndomains = 0;
  options.socket_receive_buffer_size = kReceiveBuffer;
  options.sock_state_cb = [](void* self, ares_socket_t fd, int read, int write) {
    static_cast<CaresResolver*>(self)->OnSocketState(fd, read != 0, write != 0);
  };
  options.sock_state_cb_data = this;
  std::array<char, 2> lookups = {'b', '\0'};
  options.lookups = lookups.data();
  const int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_DOMAINS |
                   ARES_OPT_SOCK_RCVBUF | ARES_OPT_SOCK_STATE_CB | ARES_OPT_LOOKUPS |
                   ARES_OPT_ROTATE;
  int status = ares_init_options(&channel_, &options, mask);
  if (status == ARES_SUCCESS && !server_.empty()) {
    status = ares_set_servers_ports_csv(channel_, server_.c_str());
  }
  if (status == ARES_SUCCESS) return absl::OkStatus();
  return absl::InternalError(
      fmt::format("cannot start the DNS resolver: {}", ares_strerror(status)));
}

void CaresResolver::CloseChannel() {
  closing_ = true;
  if (channel_ != nullptr) ares_destroy(channel_);
  channel_ = nullptr;
  closing_ = false;
}

void CaresResolver::Resolve(const std::string& host, Family family, DnsCallback done) {
  auto request = std::make_shared<Request>();
  request->host = host;
  request->family = family;
  request->done = std::move(done);
  queued_.push_back(std::move(request));
  StartQueued();
}

void CaresResolver::StartQueued() {
  if (broken_ && in_flight_ == 0) {
    CloseChannel();
    broken_ = !OpenChannel().ok();
  }
  while (!queued_.empty() && in_flight_ < kMaxInFlight && fresh_.size() < kMaxFresh) {
    const std::shared_ptr<Request> request = std::move(queued_.front());
    queued_.pop_front();
    request->started = std::chrono::steady_clock::now();
    repeats_[0].waiting.push_back(request);
    Send(request);
  }
}

void CaresResolver::Send(const std::shared_ptr<Request>& request) {
  if (channel_ == nullptr) {
    DnsAnswer answer;
    answer.error = MakeDnsError(ARES_ENOTINITIALIZED);
    Finish(*request, std::move(answer));
    return;
  }
  auto query = std::make_unique<Query>();
  query->resolver = this;
  query->request = request;
  query->started = std::chrono::steady_clock::now();
  query->fresh_position = fresh_.insert(fresh_.end(), query.get());
  ++in_flight_;
  ++request->queries;
  ++request->sent;
  const int type = request->family == Family::kIpv4 ? ns_t_a : ns_t_aaaa;
  ares_query(channel_, request->host.c_str(), ns_c_in, type, &CaresResolver::OnAnswer,
             query.release());
}

void CaresResolver::OnAnswer(void* arg, int status, int, unsigned char* data, int size) {
  const std::unique_ptr<Query> query(static_cast<Query*>(arg));
  CaresResolver& self = *query->resolver;
  Request& request = *query->request;
  if (query->fresh) self.fresh_.erase(query->fresh_position);
  --self.in_flight_;
  --request.queries;
  if (self.closing_ || request.finished) return;
  if (status == ARES_ECONNREFUSED) {
    self.broken_ = true;
    if (request.sent < kMaxSent) {
      self.refused_.push_back(query->request);
      return;
    }
  }
  if (status == ARES_ETIMEOUT && request.queries > 0) return;
  DnsAnswer answer;
  if (status == ARES_SUCCESS) {
    answer = ParseDnsAnswer(data, size, request.family);
  } else {
    answer.error = MakeDnsError(status);
  }
  Finish(request, std::move(answer));
}

void CaresResolver::Finish(Request& request, DnsAnswer answer) {
  request.finished = true;
  const DnsCallback done = std::move(request.done);
  done(std::move(answer));
}

void CaresResolver::SendRepeats(SteadyTime now) {
  for (const auto& request : std::exchange(refused_, {})) {
    if (!request->finished) Send(request);
  }
  for (size_t i = 0; i < repeats_.size(); ++i) {
    auto& waiting = repeats_[i].waiting;
    while (!waiting.empty() &&
           (waiting.front()->finished || now - waiting.front()->started >= repeats_[i].after)) {
      const std::shared_ptr<Request> request = std::move(waiting.front());
      waiting.pop_front();
      if (request->finished) continue;
      if (i + 1 < repeats_.size()) repeats_[i + 1].waiting.push_back(request);
      if (in_flight_ < kMaxInFlight) Send(request);
    }
  }
}

void CaresResolver::OnTick(SteadyTime now) {
  while (!fresh_.empty() && now - fresh_.front()->started >= kFresh) {
    fresh_.front()->fresh = false;
    fresh_.pop_front();
  }
  if (broken_) StartQueued();
  SendRepeats(now);
  if (in_flight_ == 0 && queued_.empty()) return;
  if (channel_ != nullptr) ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
  StartQueued();
}

void CaresResolver::OnSocketState(ares_socket_t fd, bool read, bool write) {
  auto it = watches_.find(fd);
  if (!read && !write) {
    if (it == watches_.end()) return;
    // c-ares closes the socket after this call: let go of it first.
    it->second->descriptor.release();
    watches_.erase(it);
    return;
  }
  if (it == watches_.end()) {
    auto watch = std::make_shared<Watch>(Watch{Descriptor(io_.get_executor())});
    error_code ec;
    watch->descriptor.assign(fd, ec);
    if (ec) return;  // the queries on it end by their timeout
    it = watches_.emplace(fd, std::move(watch)).first;
  }
  it->second->read = read;
  it->second->write = write;
  Rearm(it->second);
}

void CaresResolver::Rearm(const std::shared_ptr<Watch>& watch) {
  if (!watch->descriptor.is_open()) return;
  const ares_socket_t fd = watch->descriptor.native_handle();
  if (watch->read && !watch->reading) {
    watch->reading = true;
    watch->descriptor.async_wait(Descriptor::wait_read, [this, watch, fd](error_code ec) {
      watch->reading = false;
      if (ec || !watch->descriptor.is_open()) return;
      ares_process_fd(channel_, fd, ARES_SOCKET_BAD);
      StartQueued();
      Rearm(watch);
    });
  }
  if (watch->write && !watch->writing) {
    watch->writing = true;
    watch->descriptor.async_wait(Descriptor::wait_write, [this, watch, fd](error_code ec) {
      watch->writing = false;
      if (ec || !watch->descriptor.is_open()) return;
      ares_process_fd(channel_, ARES_SOCKET_BAD, fd);
      StartQueued();
      Rearm(watch);
    });
  }
}

}  // namespace fetchbench::native
