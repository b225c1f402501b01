#include "coordinator/run/run_engine.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "coordinator/run/blocking.h"

namespace fetchbench::coordinator {
namespace {

// How often what depends on time alone is looked at: graces, deadlines.
constexpr std::chrono::milliseconds kTick{50};

}  // namespace

absl::StatusOr<std::shared_ptr<RunEngine>> RunEngine::Create(net::any_io_executor loop,
                                                             const Clock& clock,
                                                             EngineOptions options,
                                                             const std::string& store_path) {
  std::shared_ptr<RunEngine> engine(new RunEngine(std::move(loop), clock, options));
  const std::weak_ptr<RunEngine> weak = engine;
  const net::any_io_executor executor = engine->loop_;
  RunStore::Callbacks callbacks;
  callbacks.committed = [weak, executor](std::vector<CommitBatch> batches) {
    net::post(executor, [weak, batches = std::move(batches)]() mutable {
      if (const auto self = weak.lock()) self->OnCommitted(std::move(batches));
    });
  };
  callbacks.failed = [weak, executor](const absl::Status& why) {
    net::post(executor, [weak, why] {
      if (const auto self = weak.lock()) self->OnStoreFailed(why);
    });
  };
  auto store = RunStore::Create(store_path, std::move(callbacks));
  if (!store.ok()) return store.status();
  engine->store_ = *std::move(store);
  net::co_spawn(engine->loop_, Tick(engine), net::detached);
  return engine;
}

RunEngine::RunEngine(net::any_io_executor loop, const Clock& clock, EngineOptions options)
    : loop_(std::move(loop)),
      clock_(clock),
      options_(options),
      aggregator_(options.timeout_us),
      connected_(loop_),
      end_(loop_),
      tick_(loop_) {}

void RunEngine::PrintRecords(int fd, RecordStream::Style style, TextStyle text_style) {
  const std::weak_ptr<RunEngine> weak = weak_from_this();
  RecordStream::Callbacks callbacks;
  callbacks.written = [weak, executor = loop_](size_t records) {
    net::post(executor, [weak, records] {
      if (const auto self = weak.lock()) self->RowsDone(records);
    });
  };
  callbacks.broken = [weak, executor = loop_](const absl::Status& why) {
    net::post(executor, [weak, why] {
      if (const auto self = weak.lock()) self->OnStreamBroken(why);
    });
  };
  stream_ = std::make_unique<RecordStream>(fd, style, text_style, std::move(callbacks));
}

AgentEvents RunEngine::EventsOf(AgentIndex agent) {
  // The engine outlives its sessions' events: WaitEnd ends every session first.
  AgentEvents events;
  events.started = [this, agent](const v1::Started& started,
                                 const absl::flat_hash_set<uint64_t>& held) {
    OnStarted(agent, started, held);
  };
  events.credit = [this] {
    connected_.Notify();
    FeedAll();
  };
  events.batch = [this, agent](uint32_t epoch, uint64_t seq, std::vector<Record> records) {
    OnBatch(agent, epoch, seq, std::move(records));
  };
  events.progress = [this, agent](const v1::Progress& progress) {
    board_->Progress(agent, progress, clock_.Now(), clock_.WallUs());
  };
  events.finished = [this, agent](const v1::Finished& finished) { OnFinished(agent, finished); };
  events.failed = [this, agent](const absl::Status& why, const v1::Failed& last) {
    OnFailed(agent, why, last);
  };
  events.away = [this, agent](const absl::Status& why) { OnAway(agent, why); };
  events.may_read = [this] { return HasRoom(); };
  return events;
}

void RunEngine::Connect(const std::vector<std::string>& addresses,
                        const std::vector<std::string>& names, std::vector<bool> same_clock,
                        const v1::Start& start) {
  board_ =
      std::make_unique<AgentBoard>(names, std::move(same_clock), start.options().concurrency());
  for (AgentIndex i = 0; i < addresses.size(); ++i) {
    sessions_.push_back(
        std::make_shared<AgentSession>(loop_, addresses[i], start, options_.session, EventsOf(i)));
  }
  for (const auto& session : sessions_) session->Begin();
}

Task<absl::Status> RunEngine::WaitConnected(std::shared_ptr<RunEngine> self,
                                            std::chrono::milliseconds limit,
                                            std::vector<bool> expected) {
  expected.resize(self->sessions_.size(), true);
  const SteadyTime deadline = self->clock_.Now() + limit;
  bool in_time = true;
  while (in_time && !self->stopping()) {
    size_t open = 0;
    for (AgentIndex i = 0; i < self->sessions_.size(); ++i) {
      const AgentSession& session = *self->sessions_[i];
      if (expected[i] && !session.ended() && session.credit() == 0) ++open;
    }
    if (open == 0) break;
    in_time = co_await self->connected_.WaitUntil(deadline);
  }
  size_t started = 0;
  for (AgentIndex i = 0; i < self->sessions_.size(); ++i) {
    if (self->board_->ever_started(i)) {
      ++started;
      continue;
    }
    spdlog::error("agent {} is not there: {}", self->board_->name(i),
                  self->board_->trouble(i).empty() ? "no answer" : self->board_->trouble(i));
  }
  if (started > 0 || self->stopping()) co_return absl::OkStatus();
  co_return absl::UnavailableError("no agent could be reached: " + self->board_->TroublesInWords());
}

void RunEngine::AddInvalid(CommitBatch batch, std::function<void()> taken) {
  rows_in_flight_ += batch.records.size();
  store_->Push(std::move(batch));
  if (HasRoom()) {
    taken();
  } else {
    waiting_for_room_.push_back(std::move(taken));
  }
}

void RunEngine::Feed(uint64_t total, uint64_t invalid, const std::vector<uint64_t>& remaining,
                     LeaseBook::ChunkSource source) {
  book_ = std::make_unique<LeaseBook>(total, invalid, remaining,
                                      static_cast<uint32_t>(sessions_.size()), options_.grace,
                                      std::move(source));
  for (AgentIndex i = 0; i < sessions_.size(); ++i) {
    if (sessions_[i]->ended()) book_->AgentGone(i);
    if (!board_->ever_started(i)) book_->AgentAway(i, clock_.Now());
  }
  FeedAll();
  CheckEnd();
}

std::optional<LeaseCounts> RunEngine::counts() const {
  return book_ ? std::optional(book_->counts()) : std::nullopt;
}

// One lease each in turn, so that a short list is spread over all agents.
void RunEngine::FeedAll() {
  if (!book_ || stopping() || sessions_ending_ || std::exchange(feeding_, true)) return;
  bool fed = true;
  while (fed && !stopping()) {
    fed = false;
    for (AgentIndex i = 0; i < sessions_.size(); ++i) fed = FeedOne(i) || fed;
  }
  feeding_ = false;
}

bool RunEngine::FeedOne(AgentIndex agent) {
  AgentSession& session = *sessions_[agent];
  // One that is away has credit left of its last stream: what it were lent now would lie there.
  const bool here = !session.ended() && board_->state(agent) == AgentState::kRunning;
  if (!here || session.credit() == 0) return false;
  auto lease = book_->Lend(agent, session.credit());
  if (!lease.ok()) {
    error_ = lease.status();
    Stop(RunEnd::kIncomplete, std::string(lease.status().message()));
    return false;
  }
  if (!lease->has_value()) return false;
  session.SendLease(**lease);
  return true;
}

void RunEngine::OnStarted(AgentIndex agent, const v1::Started& started,
                          const absl::flat_hash_set<uint64_t>& held) {
  board_->Started(agent, started);
  if (book_) book_->AgentBack(agent, held);
  connected_.Notify();
}

void RunEngine::OnBatch(AgentIndex agent, uint32_t epoch, uint64_t seq,
                        std::vector<Record> records) {
  CommitBatch batch;
  batch.agent = agent;
  batch.epoch = epoch;
  batch.seq = seq;
  batch.records.reserve(records.size());
  batch.url_ends.reserve(records.size());
  for (Record& record : records) {
    if (!book_) break;  // nothing is lent yet: nothing can be right
    const Accepted accepted = book_->Accept(agent, record.index);
    if (accepted.verdict == Verdict::kFirst) batch.Add(std::move(record), accepted.url);
  }
  rows_in_flight_ += batch.records.size();
  store_->Push(std::move(batch));  // an empty one too: its turn brings the ack
  FeedAll();
}

void RunEngine::OnCommitted(std::vector<CommitBatch> batches) {
  for (CommitBatch& batch : batches) {
    const size_t rows = batch.records.size();
    committed_ += rows;
    for (const Record& record : batch.records) aggregator_.Add(record);
    if (batch.agent != CommitBatch::kFromCoordinator) {
      board_->Records(batch.agent, rows);
      sessions_[batch.agent]->Acknowledge(batch.epoch, batch.seq);
    }
    if (stream_ && rows > 0) {
      stream_->Push(std::move(batch));
    } else {
      RowsDone(rows);
    }
  }
  CheckEnd();
}

void RunEngine::RowsDone(size_t rows) {
  rows_in_flight_ -= rows;
  if (!HasRoom()) return;
  for (const auto& taken : std::exchange(waiting_for_room_, {})) taken();
  for (const auto& session : sessions_) session->ResumeReading();
  CheckEnd();
}

void RunEngine::OnFinished(AgentIndex agent, const v1::Finished& finished) {
  board_->Finished(agent, finished);
  // One that finishes before it was told to holds leases that will never be answered.
  if (book_ && !sessions_ending_) book_->AgentGone(agent);
  FeedAll();
  CheckEnd();
}

void RunEngine::OnFailed(AgentIndex agent, const absl::Status& why, const v1::Failed& last) {
  board_->Failed(agent, why, last);
  spdlog::error("agent {} gave up: {}", board_->name(agent), std::string(why.message()));
  if (!last.target_stderr().empty()) {
    spdlog::error("last words of its target: {}", last.target_stderr());
  }
  if (book_) book_->AgentGone(agent);
  connected_.Notify();
  FeedAll();
  CheckEnd();
}

void RunEngine::OnAway(AgentIndex agent, const absl::Status& why) {
  const bool first = board_->state(agent) == AgentState::kRunning;
  board_->Away(agent, why);
  if (first) {
    spdlog::warn("agent {} is away, trying again: {}", board_->name(agent),
                 std::string(why.message()));
  }
  if (book_) book_->AgentAway(agent, clock_.Now());
  CheckEnd();
}

void RunEngine::OnStoreFailed(absl::Status why) {
  error_ = std::move(why);
  Stop(RunEnd::kIncomplete, std::string(error_.message()));
}

void RunEngine::OnStreamBroken(const absl::Status& why) {
  if (!absl::IsCancelled(why) && error_.ok()) error_ = why;
  Stop(absl::IsCancelled(why) ? RunEnd::kInterrupted : RunEnd::kIncomplete,
       std::string(why.message()));
}

void RunEngine::Stop(RunEnd end, std::string reason) {
  if (stopping() || ended_) return;
  stop_end_ = end;
  stop_reason_ = std::move(reason);
  end_deadline_ = clock_.Now() + options_.stop_wait;
  for (const auto& taken : std::exchange(waiting_for_room_, {})) taken();
  for (AgentIndex i = 0; i < sessions_.size(); ++i) {
    if (board_->state(i) != AgentState::kRunning) {
      AbandonAway(i);
      continue;
    }
    sessions_[i]->SendCancel(stop_reason_);
    sessions_[i]->SendFinish();
    sessions_[i]->ResumeReading();
  }
  connected_.Notify();
  CheckEnd();
}

bool RunEngine::AllEnded() const {
  for (const auto& session : sessions_) {
    if (!session->ended()) return false;
  }
  return true;
}

// Whether an agent may still bring records.
bool RunEngine::AnyHope() const {
  for (AgentIndex i = 0; i < sessions_.size(); ++i) {
    if (!sessions_[i]->ended() && board_->state(i) != AgentState::kLost) return true;
  }
  return false;
}

void RunEngine::EndSessions() {
  sessions_ending_ = true;
  end_deadline_ = clock_.Now() + options_.finish_wait;
  for (AgentIndex i = 0; i < sessions_.size(); ++i) {
    if (board_->state(i) == AgentState::kRunning) {
      sessions_[i]->SendFinish();
    } else {
      AbandonAway(i);
    }
  }
}

// One that is not here at the end: it counts as lost unless it had ended before.
void RunEngine::AbandonAway(AgentIndex agent) {
  if (sessions_[agent]->ended()) return;
  sessions_[agent]->Abandon();
  board_->Lost(agent, "was not there at the end");
}

void RunEngine::CheckEnd() {
  if (ended_) return;
  if (!stopping() && book_) {
    if (book_->AllRecorded() && committed_ == book_->counts().recorded && rows_in_flight_ == 0) {
      if (!all_recorded_) all_recorded_ = clock_.Now();
      if (!sessions_ending_ && clock_.Now() >= *all_recorded_ + options_.linger) EndSessions();
    } else if (!AnyHope()) {
      Stop(RunEnd::kIncomplete, "no agent is left: " + board_->TroublesInWords());
      return;
    }
  }
  const bool late = end_deadline_ && clock_.Now() >= *end_deadline_;
  if ((stopping() || sessions_ending_) && AllEnded() &&
      (rows_in_flight_ == 0 || !error_.ok() || late)) {
    ended_ = true;
    end_.Notify();
  }
}

Task<> RunEngine::Tick(std::shared_ptr<RunEngine> self) {
  while (!self->ended_) {
    co_await self->tick_.WaitUntil(std::chrono::steady_clock::now() + kTick);
    const SteadyTime now = self->clock_.Now();
    if (self->book_ && !self->sessions_ending_) {
      for (const AgentIndex agent : self->book_->Tick(now)) {
        self->board_->Lost(agent, "away past the grace period");
        spdlog::error("agent {} stayed away: its URLs go to others", self->board_->name(agent));
      }
      self->FeedAll();
    }
    if (self->end_deadline_ && now >= *self->end_deadline_) {
      for (const auto& session : self->sessions_) {
        if (!session->ended()) session->Abandon();
      }
    }
    self->CheckEnd();
  }
}

EngineEnd RunEngine::End() const {
  EngineEnd end;
  end.end = stop_end_.value_or(RunEnd::kComplete);
  end.reason = stop_reason_;
  // Every URL has its record, some of them by our own hand: the target's word is missing.
  const uint64_t crashed = aggregator_.outcomes()[static_cast<size_t>(Outcome::kClientCrashed)];
  if (end.end == RunEnd::kComplete && crashed > 0) {
    end.end = RunEnd::kIncomplete;
    end.reason = fmt::format("the target crashed, {} URLs are client_crashed: {}", crashed,
                             board_ ? board_->TroublesInWords() : "");
  }
  end.error = error_;
  return end;
}

Task<EngineEnd> RunEngine::WaitEnd(std::shared_ptr<RunEngine> self) {
  while (!self->ended_) co_await self->end_.WaitUntil();
  co_return self->End();
}

Task<absl::Status> RunEngine::CloseStore(std::shared_ptr<RunEngine> self, bool build_index) {
  self->ended_ = true;
  self->tick_.Notify();
  // Only who interrupts is in a hurry; the end of DURATION waits for a reader as any other end
  // does.
  const bool hurry = self->stop_end_ == RunEnd::kInterrupted || !self->error_.ok();
  RunStore* store = self->store_.get();
  RecordStream* stream = self->stream_.get();
  const auto close = [store, stream, hurry, build_index] {
    if (stream != nullptr && hurry) stream->Abandon();
    if (stream != nullptr && !hurry) stream->Finish();
    return store->Finish(build_index);
  };
  co_return co_await RunBlocking(self->loop_, close);
}

}  // namespace fetchbench::coordinator
