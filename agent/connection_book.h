#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/peer_address.h"
#include "common/fd.h"

namespace fetchbench::agent {

// How many connections there may be at once, whoever opened them; less where the limit of
// descriptors is low. A coordinator needs one or two.
inline constexpr size_t kMaxConnections = 256;

// What became of connections since the agent was started.
struct ConnectionCounts {
  size_t open = 0;       // now
  uint64_t refused = 0;  // there was no room, and nobody could be asked to leave
  uint64_t ended = 0;    // idle ones, to make room
};

// The connections of an agent, in descriptors of our own, and what is known of each: where it comes
// from, and whether a call is going on on it. So it is known which of them may be ended when there
// are too many: a stranger who connects and says nothing, or who was let in and asks for nothing,
// gives way; who is at work does not. Thread-safe. It must outlive what Begin gives.
class ConnectionBook {
 public:
  // `most`: connections at once.
  explicit ConnectionBook(size_t most = kMaxConnections) : most_(most) {}
  ConnectionBook(const ConnectionBook&) = delete;
  ConnectionBook& operator=(const ConnectionBook&) = delete;

  // A call that goes on: while it lives, nobody ends its connection to make room.
  class Use {
   public:
    Use(Use&& other) noexcept : book_(std::exchange(other.book_, nullptr)), id_(other.id_) {}
    Use& operator=(Use&&) = delete;
    ~Use() {
      if (book_ != nullptr) book_->End(id_);
    }

   private:
    friend ConnectionBook;
    Use(ConnectionBook* book, uint64_t id) : book_(book), id_(id) {}
    ConnectionBook* book_;
    uint64_t id_;
  };
  // `peer`: as gRPC names it. Whose connection cannot be found by that (those of Unix sockets have
  // no names) is never ended to make room anyway.
  Use Begin(std::string_view peer);

  enum class Taken {
    kYes,
    kForAnother,  // an idle one was ended
    kFull,        // no room, and nobody is idle
    kClosed,      // nobody is let in at present
  };
  // Not kYes or kForAnother: the connection is not in the book.
  Taken Take(Fd own);
  // Ends an idle connection, as Take does; for when descriptors are scarce. They are free only when
  // gRPC has heard of the end: until Take has found room, further calls end none that had a call.
  // False: there is none to end.
  bool MakeRoom();
  void CountRefusal();

  // Ends all of them at once, what has come on them and was not read included; those that come are
  // refused until LetIn. Returns how many there were.
  size_t HangUp();
  void LetIn();

  ConnectionCounts counts() const;
  // Who has most of them, and how many: for people.
  std::string Crowd() const;

  // For the one thread that takes connections and hears of their ends: their descriptors, in an
  // order that only Take and MakeRoom change beside these.
  std::vector<int> Descriptors() const;
  void Forget(const std::vector<bool>& ended);
  void ForgetAll();

 private:
  struct Connection {
    Fd fd;
    uint64_t id = 0;
    std::optional<PeerAddress> peer;  // none: not of TCP
    int uses = 0;
    bool was_used = false;
  };

  void End(uint64_t id);
  // Both under the lock. `strangers`: only of those that never had a call.
  bool EndIdle(bool strangers);
  std::optional<size_t> ToEnd(bool strangers) const;

  const size_t most_;
  mutable std::mutex mutex_;
  std::vector<Connection> connections_;  // the oldest first
  uint64_t next_id_ = 1;
  uint64_t refused_ = 0;
  uint64_t ended_ = 0;
  bool closed_ = false;
  bool making_room_ = false;  // since MakeRoom nobody has found room
};

}  // namespace fetchbench::agent
