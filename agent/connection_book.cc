#include "agent/connection_book.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace fetchbench::agent {
namespace {

// With a shutdown alone gRPC would still read, and keep, what has come already: megabytes of each.
void Disconnect(const Fd& connection) {
  sockaddr nobody{};
  nobody.sa_family = AF_UNSPEC;
  if (connect(connection.get(), &nobody, sizeof(nobody)) != 0) {
    shutdown(connection.get(), SHUT_RDWR);  // not of TCP
  }
}

}  // namespace

ConnectionBook::Use ConnectionBook::Begin(std::string_view peer) {
  const std::optional<PeerAddress> address = ParseGrpcPeer(peer);
  const std::lock_guard lock(mutex_);
  // The newest: an address and port can have come again while the old connection is in the book.
  for (auto it = connections_.rbegin(); address && it != connections_.rend(); ++it) {
    if (it->peer != address) continue;
    ++it->uses;
    it->was_used = true;
    return {this, it->id};
  }
  return {nullptr, 0};
}

void ConnectionBook::End(uint64_t id) {
  const std::lock_guard lock(mutex_);
  for (Connection& connection : connections_) {
    if (connection.id == id) --connection.uses;
  }
}

ConnectionBook::Taken ConnectionBook::Take(Fd own) {
  const std::lock_guard lock(mutex_);
  if (closed_) return Taken::kClosed;
  const bool full = connections_.size() >= most_;
  if (full && !EndIdle(false)) return Taken::kFull;
  making_room_ = false;
  std::optional<PeerAddress> peer = PeerOf(own.get());
  connections_.push_back({std::move(own), next_id_++, peer});
  return full ? Taken::kForAnother : Taken::kYes;
}

bool ConnectionBook::MakeRoom() {
  const std::lock_guard lock(mutex_);
  const bool ended = EndIdle(making_room_);
  making_room_ = true;
  return ended;
}

bool ConnectionBook::EndIdle(bool strangers) {
  const std::optional<size_t> index = ToEnd(strangers);
  if (!index) return false;
  Disconnect(connections_[*index].fd);
  connections_.erase(connections_.begin() + static_cast<ptrdiff_t>(*index));
  ++ended_;
  return true;
}

// Of whoever has most idle ones, so that nobody can drive others out by having many; of theirs one
// that never had a call; of these the oldest, so that each has time to say something.
std::optional<size_t> ConnectionBook::ToEnd(bool strangers) const {
  const auto may_go = [strangers](const Connection& c) {
    return c.uses == 0 && c.peer.has_value() && !(strangers && c.was_used);
  };
  std::map<PeerAddress, size_t> idle;
  for (const Connection& c : connections_) {
    if (may_go(c)) ++idle[c.peer->Network()];
  }
  std::optional<size_t> chosen;
  std::tuple<size_t, bool> best;
  for (size_t i = 0; i < connections_.size(); ++i) {
    const Connection& c = connections_[i];
    if (!may_go(c)) continue;
    const std::tuple<size_t, bool> rank(idle[c.peer->Network()], !c.was_used);
    if (chosen && rank <= best) continue;
    chosen = i;
    best = rank;
  }
  return chosen;
}

void ConnectionBook::CountRefusal() {
  const std::lock_guard lock(mutex_);
  ++refused_;
}

size_t ConnectionBook::HangUp() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (const Connection& connection : connections_) Disconnect(connection.fd);
  return connections_.size();
}

void ConnectionBook::LetIn() {
  const std::lock_guard lock(mutex_);
  closed_ = false;
}

ConnectionCounts ConnectionBook::counts() const {
  const std::lock_guard lock(mutex_);
  return {connections_.size(), refused_, ended_};
}

std::string ConnectionBook::Crowd() const {
  const std::lock_guard lock(mutex_);
  std::map<PeerAddress, size_t> of;
  for (const Connection& c : connections_) {
    if (c.peer) ++of[c.peer->Network()];
  }
  const auto most = std::max_element(
      of.begin(), of.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == of.end()) return fmt::format("{} are open", connections_.size());
  return fmt::format("{} are open, {} of them from {}", connections_.size(), most->second,
                     most->first.NetworkText());
}

std::vector<int> ConnectionBook::Descriptors() const {
  const std::lock_guard lock(mutex_);
  std::vector<int> descriptors;
  for (const Connection& connection : connections_) descriptors.push_back(connection.fd.get());
  return descriptors;
}

void ConnectionBook::Forget(const std::vector<bool>& ended) {
  const std::lock_guard lock(mutex_);
  size_t kept = 0;
  for (size_t i = 0; i < connections_.size(); ++i) {
    if (!ended[i]) std::swap(connections_[kept++], connections_[i]);
  }
  connections_.erase(connections_.begin() + static_cast<ptrdiff_t>(kept), connections_.end());
}

void ConnectionBook::ForgetAll() {
  const std::lock_guard lock(mutex_);
  connections_.clear();
}

}  // namespace fetchbench::agent
