#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "common/clock.h"
#include "common/grpc_client_stream.h"
#include "common/net.h"
#include "common/record.h"
#include "common/wakeup.h"
#include "coordinator/fleet/agent_endpoint.h"
#include "coordinator/run/lease_book.h"
#include "fetchbench/v1/agent.grpc.pb.h"

namespace fetchbench::coordinator {

// Leases that an agent may say it still holds.
inline constexpr int kMaxHeldLeases = 1 << 20;
// The highest number of a batch.
inline constexpr uint64_t kMaxBatchSeq = uint64_t{1} << 62;
// An agent that does not stay ready is given up after so many attempts.
inline constexpr int kMostMadeReady = 5;

struct AgentSessionLimits {
  // Nothing heard for so long: the stream is given up and opened anew. Agents report every second.
  std::chrono::milliseconds silence{10'000};
  std::chrono::milliseconds first_backoff{100};
  std::chrono::milliseconds longest_backoff{2'000};
};

// What an agent did. All on the control loop; none may destroy the session.
struct AgentEvents {
  // It runs the target. `held`: leases it still works on (empty unless it resumed).
  std::function<void(const v1::Started&, const absl::flat_hash_set<uint64_t>& held)> started;
  std::function<void()> credit;  // it wants more; see AgentSession::credit()
  // A batch never seen before. `epoch` and `seq` go back with Acknowledge.
  std::function<void(uint32_t epoch, uint64_t seq, std::vector<Record>)> batch;
  std::function<void(const v1::Progress&)> progress;
  std::function<void(const v1::Finished&)> finished;                   // the end, a good one
  std::function<void(const absl::Status&, const v1::Failed&)> failed;  // the end: why, last word
  std::function<void(const absl::Status&)> away;  // stream broke; it is being tried again
  std::function<bool()> may_read;                 // false: back-pressure
};

// One agent's Execute stream of one run, with its reconnects: leases out, batches in, each batch
// handed on once. Lives on the control loop, in a shared_ptr: coroutines hold it.
class AgentSession : public std::enable_shared_from_this<AgentSession> {
 public:
  // Frees that agent of what an earlier session of this run left there, so that it
  // may be dialled again. An error: it is busy with something else, and with what. Called on the
  // loop; is to return soon after `stopped` is true.
  using Release = std::function<Task<absl::Status>(const AgentEndpoint& endpoint,
                                                   std::function<bool()> stopped)>;

  // The agent refused to start (FailedPrecondition): what can be done about it, and what `start` is
  // then. OK: it may be started. Called on the loop.
  using MakeReady = std::function<Task<absl::Status>(absl::Status refused, v1::Start& start)>;

  // The agent runs the target: whether it may in this run, with what it has. An error: it is told
  // to stop, and that is the end of this session. Nothing else of the stream is looked at before.
  // Called on the loop.
  using Admit = std::function<Task<absl::Status>(v1::Started started)>;

  AgentSession(net::any_io_executor loop, AgentEndpoint endpoint, v1::Start start,
               AgentSessionLimits limits, AgentEvents events);

  // For an agent that turns out to be busy; none: that is the end of this session.
  void set_release(Release release) { release_ = std::move(release); }
  // For an agent that is not ready; none: likewise.
  void set_make_ready(MakeReady make_ready) { make_ready_ = std::move(make_ready); }
  // None: whoever starts is taken.
  void set_admit(Admit admit) { admit_ = std::move(admit); }
  void Begin();

  // URLs that the agent wants and has not been sent.
  uint64_t credit() const { return credit_; }
  // What they may come to, by UrlCost; below 0 when it was sent more. Empty: it did not say.
  std::optional<int64_t> byte_credit() const { return byte_credit_; }
  void SendLease(const Lease& lease);
  // Every batch of that epoch up to `seq` is committed. An older epoch is ignored.
  void Acknowledge(uint32_t epoch, uint64_t seq);
  void SendFinish();
  void SendCancel(std::string reason);
  // may_read may be true again.
  void ResumeReading() { room_.Notify(); }
  // Drops the stream and tries no more. No event comes afterwards.
  void Abandon();

  // What a message of the agent does; every one that comes is given to this. An error breaks the
  // stream: the agent does not keep to the protocol.
  absl::Status Receive(v1::AgentMessage& message);

  // When the message that events are about was read; its admission may have taken long since.
  SteadyTime heard_at() const { return heard_at_; }
  const AgentEndpoint& endpoint() const { return endpoint_; }
  bool ended() const { return ended_; }
  // It was told to start, and has not said since that it is done: it may work on, or wait for us.
  bool may_be_busy() const { return may_be_busy_; }

 private:
  using Stream = ClientStream<v1::CoordinatorMessage, v1::AgentMessage>;
  using Self = std::shared_ptr<AgentSession>;

  // What one stream's writer and reader share.
  struct Connection {
    explicit Connection(const net::any_io_executor& loop, Stream s)
        : stream(std::move(s)), outgoing(loop), writer_done(loop) {}
    Stream stream;
    Wakeup outgoing;
    Wakeup writer_done;
    bool closing = false;
  };

  static Task<> Run(Self self);
  static Task<absl::Status> RunStream(Self self);
  static Task<> WriteLoop(Self self, std::shared_ptr<Connection> connection);
  static Task<absl::Status> ReadLoop(Self self, std::shared_ptr<Connection> connection);
  std::optional<v1::CoordinatorMessage> NextMessage();
  void HandleCredit(const v1::Credit& credit);
  absl::Status HandleBatch(v1::Batch& batch);
  absl::Status HandleStarted(const v1::Started& started);
  static Task<absl::Status> ReleaseAgent(Self self, absl::Status refused);
  static Task<absl::Status> MakeAgentReady(Self self, absl::Status refused);
  static Task<absl::Status> SendAway(Self self, std::shared_ptr<Connection> connection,
                                     absl::Status why);
  void End();
  void WakeWriter();

  net::any_io_executor loop_;
  AgentEndpoint endpoint_;
  v1::Start start_;
  AgentSessionLimits limits_;
  AgentEvents events_;
  Release release_;
  MakeReady make_ready_;
  Admit admit_;
  int made_ready_ = 0;
  std::unique_ptr<v1::Agent::Stub> stub_;
  std::shared_ptr<Connection> connection_;
  Wakeup room_;
  Wakeup retry_;
  std::deque<v1::Lease> leases_;  // to be sent; bounded by credit
  uint64_t credit_ = 0;
  std::optional<int64_t> byte_credit_;
  SteadyTime heard_at_{};
  uint32_t epoch_ = 0;  // counts the agent's own lives: a restarted agent numbers batches anew
  uint64_t last_received_ = 0;
  uint64_t last_committed_ = 0;
  bool ack_due_ = false;
  bool started_once_ = false;
  bool started_here_ = false;  // on this stream
  bool start_sent_ = false;
  bool finish_wanted_ = false;
  bool finish_sent_ = false;
  std::optional<std::string> cancel_reason_;
  bool cancel_sent_ = false;
  bool may_be_busy_ = false;
  bool ended_ = false;
  bool abandoned_ = false;
};

}  // namespace fetchbench::coordinator
