#include "coordinator/run/agent_session.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <utility>

#include "common/grpc_options.h"
#include "common/record_codec.h"
#include "common/url_cost.h"
#include "common/utf8.h"
#include "coordinator/fleet/agent_channel.h"
#include "coordinator/fleet/peer_text.h"
#include "coordinator/fleet/tls_diagnosis.h"
#include "coordinator/input/url_normalize.h"
#include "coordinator/input/url_spool.h"

namespace fetchbench::coordinator {
namespace {

// What an agent may want at most, whatever it grants. One message holds 32 bits of it.
constexpr uint64_t kMaxCredit = 1u << 20;
constexpr int64_t kMaxByteCredit = int64_t{1} << 40;
// The largest chunk of a list in one message, with an index and a length of each URL.
static_assert(kChunkBytes + kMaxUrlBytes + kChunkUrls * 24 < kMaxRequestBytes);
// For the agent to end the call after its last word.
constexpr std::chrono::milliseconds kGoodbyeWait{1000};
// For an agent that was told to stop to do so; a container has to be removed.
constexpr std::chrono::milliseconds kSendAwayWait{5000};

v1::CoordinatorMessage LeaseMessage(v1::Lease lease) {
  v1::CoordinatorMessage message;
  *message.mutable_lease() = std::move(lease);
  return message;
}

// Codes that trying again cannot cure.
bool IsFatal(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kOutOfRange:  // EndOfStream
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kAborted:
      return false;
    default:
      return true;
  }
}

}  // namespace

AgentSession::AgentSession(net::any_io_executor loop, AgentEndpoint endpoint, v1::Start start,
                           AgentSessionLimits limits, AgentEvents events)
    : loop_(std::move(loop)),
      endpoint_(std::move(endpoint)),
      start_(std::move(start)),
      limits_(limits),
      events_(std::move(events)),
      stub_(v1::Agent::NewStub(MakeAgentChannel(endpoint_))),
      room_(loop_),
      retry_(loop_) {
  start_.set_agent(ValidUtf8(endpoint_.shown()));
}

void AgentSession::Begin() {
  net::co_spawn(loop_, Run(shared_from_this()), [self = shared_from_this()](std::exception_ptr e) {
    if (e) spdlog::error("agent {}: a bug ended its session", self->endpoint_.shown());
  });
}

void AgentSession::WakeWriter() {
  if (connection_) connection_->outgoing.Notify();
}

void AgentSession::SendLease(const Lease& lease) {
  v1::Lease message;
  message.set_lease_id(lease.id);
  uint64_t last = 0;
  for (const uint32_t entry : lease.entries) {
    const uint64_t index = lease.chunk->indices[entry];
    message.add_index_delta(static_cast<int64_t>(index - last));
    last = index;
    const std::string_view url = lease.chunk->Url(entry);
    message.add_url(url.data(), url.size());
    if (byte_credit_) *byte_credit_ -= static_cast<int64_t>(UrlCost(url.size()));
  }
  credit_ -= std::min<uint64_t>(credit_, lease.entries.size());
  leases_.push_back(std::move(message));
  WakeWriter();
}

void AgentSession::Acknowledge(uint32_t epoch, uint64_t seq) {
  if (epoch != epoch_ || seq <= last_committed_) return;
  last_committed_ = seq;
  ack_due_ = true;
  WakeWriter();
}

void AgentSession::SendFinish() {
  finish_wanted_ = true;
  WakeWriter();
}

void AgentSession::SendCancel(std::string reason) {
  leases_.clear();
  cancel_reason_ = std::move(reason);
  WakeWriter();
}

void AgentSession::Abandon() {
  abandoned_ = true;
  End();
  if (connection_) connection_->stream.Cancel();
}

void AgentSession::End() {
  ended_ = true;
  retry_.Notify();
  room_.Notify();
  WakeWriter();
}

Task<> AgentSession::Run(Self self) {
  auto backoff = self->limits_.first_backoff;
  while (!self->ended_) {
    const bool had_started = self->started_once_;
    absl::Status status = ExplainRefusal(co_await RunStream(self));
    if (self->ended_) break;
    if (absl::IsResourceExhausted(status) && self->release_) {
      status = co_await ReleaseAgent(self, status);
      if (self->ended_) break;
    }
    if (absl::IsFailedPrecondition(status) && !self->started_here_ && self->make_ready_) {
      status = co_await MakeAgentReady(self, status);
      if (self->ended_) break;
    }
    if (IsFatal(status)) {
      self->End();
      self->events_.failed(status, {});
      break;
    }
    self->events_.away(status);
    if (self->started_once_ && !had_started) backoff = self->limits_.first_backoff;
    co_await self->retry_.WaitUntil(std::chrono::steady_clock::now() + backoff);
    backoff = std::min(backoff * 2, self->limits_.longest_backoff);
  }
}

// An agent that was out of reach when this run was resumed may still hold its earlier session.
Task<absl::Status> AgentSession::ReleaseAgent(Self self, absl::Status refused) {
  std::function<bool()> stopped = [self] { return self->ended_; };
  const absl::Status released = co_await self->release_(self->endpoint_, std::move(stopped));
  if (released.ok()) {
    co_return absl::UnavailableError("it was released from an earlier session of this run");
  }
  co_return IsFatal(released) ? refused : released;
}

// One that came back, or only came after the others were made ready, may have another image.
Task<absl::Status> AgentSession::MakeAgentReady(Self self, absl::Status refused) {
  if (self->made_ready_ >= kMostMadeReady) co_return refused;
  ++self->made_ready_;
  self->events_.away(refused);
  absl::Status ready = co_await self->make_ready_(std::move(refused), self->start_);
  if (ready.ok()) co_return absl::UnavailableError("its target was made ready again");
  co_return ready;
}

Task<absl::Status> AgentSession::RunStream(Self self) {
  self->start_.set_last_committed_seq(self->last_committed_);
  self->leases_.clear();  // what was not sent, the agent does not hold: it is taken back
  self->credit_ = 0;
  self->byte_credit_.reset();
  self->started_here_ = false;
  self->start_sent_ = self->cancel_sent_ = self->finish_sent_ = self->ack_due_ = false;
  auto* stub = self->stub_.get();
  const auto starter = [stub](grpc::ClientContext* context, auto* reactor) {
    stub->async()->Execute(context, reactor);
  };
  auto connection = std::make_shared<Connection>(self->loop_, Stream::Start(self->loop_, starter));
  self->connection_ = connection;
  net::co_spawn(self->loop_, WriteLoop(self, connection), [connection](std::exception_ptr e) {
    if (e) connection->stream.Cancel();
    connection->writer_done.Notify();
  });
  absl::Status status = co_await ReadLoop(self, connection);
  connection->closing = true;
  connection->outgoing.Notify();
  if (self->ended_ && !self->abandoned_) {
    // After its last word the agent ends the call; half-closing first would look like an accident.
    const SteadyTime deadline = std::chrono::steady_clock::now() + kGoodbyeWait;
    while ((co_await connection->stream.Read(deadline)).ok()) {
    }
  }
  connection->stream.Cancel();
  co_await connection->writer_done.WaitUntil();
  self->connection_ = nullptr;
  co_return status;
}

// The next thing to say, most urgent first.
std::optional<v1::CoordinatorMessage> AgentSession::NextMessage() {
  v1::CoordinatorMessage message;
  if (!start_sent_) {
    start_sent_ = true;
    *message.mutable_start() = start_;
    return message;
  }
  if (cancel_reason_ && !cancel_sent_) {
    cancel_sent_ = true;
    message.mutable_cancel()->set_reason(*cancel_reason_);
    return message;
  }
  // Not before Started: until then it may be one of a life that the agent knows nothing of.
  if (ack_due_ && started_here_) {
    ack_due_ = false;
    message.mutable_ack()->set_seq(last_committed_);
    return message;
  }
  if (!leases_.empty()) {
    message = LeaseMessage(std::move(leases_.front()));
    leases_.pop_front();
    return message;
  }
  if (finish_wanted_ && !finish_sent_) {
    finish_sent_ = true;
    message.mutable_finish();
    return message;
  }
  return std::nullopt;
}

Task<> AgentSession::WriteLoop(Self self, std::shared_ptr<Connection> connection) {
  while (!connection->closing) {
    std::optional<v1::CoordinatorMessage> message = self->NextMessage();
    if (!message) {
      co_await connection->outgoing.WaitUntil();
      continue;
    }
    const bool starts = message->has_start();
    const absl::Status status = co_await connection->stream.Write(*std::move(message));
    if (!status.ok()) break;  // the reader learns why
    if (starts && !connection->closing) self->may_be_busy_ = true;
  }
}

Task<absl::Status> AgentSession::ReadLoop(Self self, std::shared_ptr<Connection> connection) {
  while (true) {
    while (!self->ended_ && !self->events_.may_read()) {
      co_await self->room_.WaitUntil(std::chrono::steady_clock::now() +
                                     std::chrono::milliseconds(100));
    }
    if (self->ended_) co_return absl::OkStatus();
    const SteadyTime deadline = std::chrono::steady_clock::now() + self->limits_.silence;
    absl::StatusOr<v1::AgentMessage> message = co_await connection->stream.Read(deadline);
    self->heard_at_ = std::chrono::steady_clock::now();
    if (self->ended_) co_return absl::OkStatus();
    if (!message.ok()) {
      if (IsEndOfStream(message.status())) {
        co_return absl::UnavailableError("the agent ended the stream without a last word");
      }
      if (absl::IsDeadlineExceeded(message.status()) && !connection->stream.over()) {
        co_return absl::UnavailableError(
            fmt::format("nothing heard for {} ms", self->limits_.silence.count()));
      }
      if (IsFatal(message.status())) self->may_be_busy_ = false;  // its own word: it refuses
      co_return message.status();
    }
    if (message->has_started() && self->admit_) {
      BoundPeerMessage(*message);
      const absl::Status admitted = co_await self->admit_(message->started());
      if (self->ended_) co_return absl::OkStatus();
      if (!admitted.ok()) co_return co_await SendAway(self, connection, admitted);
    }
    const absl::Status status = self->Receive(*message);
    if (!status.ok() || self->ended_) co_return status;
  }
}

// It runs what it must not: it is to be free for other runs.
Task<absl::Status> AgentSession::SendAway(Self self, std::shared_ptr<Connection> connection,
                                          absl::Status why) {
  self->started_here_ = true;  // so nothing is to be made ready
  self->events_.away(why);
  self->SendCancel(std::string(why.message()));
  self->SendFinish();
  const SteadyTime deadline = std::chrono::steady_clock::now() + kSendAwayWait;
  // The agent ends the call after its last word.
  bool goes_on = true;
  while (goes_on && !self->ended_) goes_on = (co_await connection->stream.Read(deadline)).ok();
  if (connection->stream.over()) self->may_be_busy_ = false;
  co_return why;
}

absl::Status AgentSession::Receive(v1::AgentMessage& message) {
  if (!message.has_batch()) BoundPeerMessage(message);
  if (!started_here_ && (message.has_batch() || message.has_credit() || message.has_progress())) {
    return absl::InvalidArgumentError("the agent did not begin with Started");
  }
  switch (message.kind_case()) {
    case v1::AgentMessage::kStarted:
      return HandleStarted(message.started());
    case v1::AgentMessage::kCredit:
      HandleCredit(message.credit());
      break;
    case v1::AgentMessage::kBatch:
      return HandleBatch(*message.mutable_batch());
    case v1::AgentMessage::kProgress:
      events_.progress(message.progress());
      break;
    case v1::AgentMessage::kFinished:
      may_be_busy_ = false;
      End();
      events_.finished(message.finished());
      break;
    case v1::AgentMessage::kFailed: {
      may_be_busy_ = false;
      End();
      const auto& failed = message.failed();
      const auto code = static_cast<absl::StatusCode>(failed.code());
      events_.failed(
          absl::Status(failed.code() == 0 ? absl::StatusCode::kUnknown : code, failed.message()),
          failed);
      break;
    }
    case v1::AgentMessage::KIND_NOT_SET:
      break;  // a kind that this version does not know
  }
  return absl::OkStatus();
}

absl::Status AgentSession::HandleStarted(const v1::Started& started) {
  if (std::exchange(started_here_, true)) {
    return absl::InvalidArgumentError("the agent said Started twice on one stream");
  }
  if (started.held_lease_ids_size() > kMaxHeldLeases) {
    return absl::InvalidArgumentError(fmt::format("the agent claims to hold {} leases: at most {}",
                                                  started.held_lease_ids_size(), kMaxHeldLeases));
  }
  absl::flat_hash_set<uint64_t> held;
  if (started.resumed()) {
    held.insert(started.held_lease_ids().begin(), started.held_lease_ids().end());
  } else if (started_once_) {
    ++epoch_;  // a new life: it knows nothing of the batches before, and numbers on from these
    last_received_ = last_committed_ = start_.last_committed_seq();
    ack_due_ = false;
  }
  started_once_ = true;
  WakeWriter();
  made_ready_ = 0;  // it stayed ready until here
  events_.started(started, held);
  return absl::OkStatus();
}

void AgentSession::HandleCredit(const v1::Credit& credit) {
  credit_ = std::min(kMaxCredit, credit_ + credit.urls());
  if (credit.bytes() > 0) {
    const uint64_t more = std::min<uint64_t>(credit.bytes(), kMaxByteCredit);
    byte_credit_ = std::min(kMaxByteCredit, byte_credit_.value_or(0) + static_cast<int64_t>(more));
  }
  events_.credit();
}

absl::Status AgentSession::HandleBatch(v1::Batch& batch) {
  const uint64_t seq = batch.seq();
  if (seq <= last_received_) {
    // It was sent again after a reconnect. If it is committed, the ack got lost.
    ack_due_ = ack_due_ || seq <= last_committed_;
    WakeWriter();
    return absl::OkStatus();
  }
  if (seq != last_received_ + 1 || seq > kMaxBatchSeq) {
    return absl::DataLossError(
        fmt::format("batch {} follows batch {}: some are missing", seq, last_received_));
  }
  auto records = DecodeRecords(batch.records());
  if (!records.ok()) return records.status();
  last_received_ = seq;
  events_.batch(epoch_, seq, *std::move(records));
  return absl::OkStatus();
}

}  // namespace fetchbench::coordinator
