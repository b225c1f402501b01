#include "coordinator/run/run_engine.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

namespace fetchbench::coordinator {
namespace {

// How often what depends on time alone is looked at: graces, deadlines.
constexpr std::chrono::milliseconds kTick{50};

}  // namespace

absl::StatusOr<std::shared_ptr<RunEngine>> RunEngine::Create(net::any_io_executor loop,
                                                             const Clock& clock,
                                                             EngineOptions options,
                                                             const std::string& store_path,
                                                             std::optional<StoredRecords> stored) {
  std::shared_ptr<RunEngine> engine(new RunEngine(std::move(loop), clock, options));
  if (stored) {
    engine->known_ = stored->recorded;
    engine->known_by_agent_ = stored->by_agent;
    engine->recorded_earlier_ = engine->known_.count();
  }
  auto pipe = CommitPipe::Create(engine->loop_, store_path, options.timeout_us, std::move(stored));
  if (!pipe.ok()) return pipe.status();
  engine->pipe_ = *std::move(pipe);
  // The engine owns the pipe, and the pipe calls only from the loop.
  RunEngine* self = engine.get();
  CommitPipe::Events events;
  events.committed = [self](uint32_t agent, uint32_t epoch, uint64_t seq, size_t rows) {
    self->OnCommitted(agent, epoch, seq, rows);
  };
  events.moved = [self] { self->OnRowsMoved(); };
  events.store_failed = [self](absl::Status why) { self->OnStoreFailed(std::move(why)); };
  events.reader_gone = [self](const absl::Status& why) { self->OnStreamBroken(why); };
  engine->pipe_->set_events(std::move(events));
  net::co_spawn(engine->loop_, Tick(engine), net::detached);
  return engine;
}

RunEngine::RunEngine(net::any_io_executor loop, const Clock& clock, EngineOptions options)
    : loop_(std::move(loop)),
      clock_(clock),
      run_clock_(clock),
      options_(options),
      roster_(loop_, clock_),
      end_(loop_),
      tick_(loop_) {}

void RunEngine::PrintRecords(int fd, RecordStream::Style style, TextStyle text_style) {
  pipe_->Print(fd, style, text_style);
}

AgentEvents RunEngine::EventsOf(AgentIndex agent) {
  // The engine outlives its sessions' events: WaitEnd ends every session first.
  AgentEvents events;
  events.started = [this, agent](const v1::Started& started,
                                 const absl::flat_hash_set<uint64_t>& held) {
    OnStarted(agent, started, held);
  };
  events.credit = [this] {
    roster_.Wake();
    FeedAll();
  };
  events.batch = [this, agent](uint32_t epoch, uint64_t seq, std::vector<Record> records) {
    OnBatch(agent, epoch, seq, std::move(records));
  };
  events.progress = [this, agent](const v1::Progress& progress) {
    const SteadyTime heard_at = roster_.session(agent).heard_at();
    roster_.board().Progress(agent, progress, heard_at, run_clock_.WallUsAt(heard_at));
  };
  events.finished = [this, agent](const v1::Finished& finished) { OnFinished(agent, finished); };
  events.failed = [this, agent](const absl::Status& why, const v1::Failed& last) {
    OnFailed(agent, why, last);
  };
  events.away = [this, agent](const absl::Status& why) { OnAway(agent, why); };
  events.may_read = [this] { return HasRoom(); };
  return events;
}

void RunEngine::Connect(const std::vector<AgentEndpoint>& endpoints, std::string boot_id,
                        const v1::Start& start, const AgentCare& care) {
  roster_.Connect(endpoints, std::move(boot_id), start, options_.session, care,
                  [this](AgentIndex i) { return EventsOf(i); });
  for (AgentIndex i = 0; i < roster_.size() && i < known_by_agent_.size(); ++i) {
    roster_.board().Records(i, known_by_agent_[i]);
  }
}

Task<absl::Status> RunEngine::WaitConnected(std::shared_ptr<RunEngine> self,
                                            std::chrono::milliseconds limit,
                                            std::vector<bool> expected) {
  std::function<bool()> stopped = [engine = self.get()] { return engine->stopping(); };
  co_return co_await self->roster_.WaitConnected(limit, self->options_.start_patience,
                                                 std::move(expected), std::move(stopped));
}

void RunEngine::AddInvalid(CommitBatch batch, std::function<void()> taken) {
  pipe_->Push(std::move(batch));
  if (HasRoom()) {
    taken();
  } else {
    waiting_for_room_.push_back(std::move(taken));
  }
}

void RunEngine::Feed(uint64_t total, uint64_t recorded, const std::vector<uint64_t>& remaining,
                     LeaseBook::ChunkSource source) {
  book_ =
      std::make_unique<LeaseBook>(total, recorded, remaining, static_cast<uint32_t>(roster_.size()),
                                  options_.grace, std::move(source), std::move(known_));
  records_ = RecordWatch(roster_.size());
  for (AgentIndex i = 0; i < roster_.size(); ++i) {
    if (roster_.session(i).ended()) book_->AgentGone(i);
    if (!roster_.board().ever_started(i)) book_->AgentAway(i, clock_.Now());
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
    for (AgentIndex i = 0; i < roster_.size(); ++i) fed = FeedOne(i) || fed;
  }
  feeding_ = false;
}

bool RunEngine::FeedOne(AgentIndex agent) {
  AgentSession& session = roster_.session(agent);
  // One that is away has credit left of its last stream: what it were lent now would lie there.
  if (!roster_.IsHere(agent) || session.credit() == 0) return false;
  auto lease = book_->Lend(agent, session.credit(), session.byte_credit());
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
  const bool again = roster_.board().ever_started(agent);
  const int64_t heard_us = run_clock_.WallUsAt(roster_.session(agent).heard_at());
  const bool hung_up = roster_.board().Started(agent, started, heard_us);
  if (hung_up) LogAgentMemory(roster_.board().name(agent), started.memory_trouble());
  LogAgentHere(roster_.board().name(agent), started, again);
  if (book_) book_->AgentBack(agent, held);
  roster_.Wake();
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
    // Times of all records are by one clock, ours.
    if (accepted.verdict != Verdict::kUnknown) records_.Heard(agent);
    if (record.start_us > 0) record.start_us -= roster_.board().clock_offset_us(agent);
    if (accepted.verdict == Verdict::kFirst) batch.Add(std::move(record), accepted.url);
  }
  pipe_->Push(std::move(batch));  // an empty one too: its turn brings the ack
  FeedAll();
}

void RunEngine::OnCommitted(AgentIndex agent, uint32_t epoch, uint64_t seq, size_t rows) {
  if (agent == CommitBatch::kFromCoordinator) return;
  roster_.board().Records(agent, rows);
  roster_.session(agent).Acknowledge(epoch, seq);
}

void RunEngine::OnRowsMoved() {
  if (HasRoom()) {
    for (const auto& taken : std::exchange(waiting_for_room_, {})) taken();
    roster_.ResumeReading();
  }
  CheckEnd();
}

void RunEngine::OnFinished(AgentIndex agent, const v1::Finished& finished) {
  roster_.board().Finished(agent, finished);
  // One that finishes before it was told to holds leases that will never be answered. Of one that
  // was told to stop nobody takes them over, and it has lost nothing.
  if (book_ && !sessions_ending_ && !stopping()) book_->AgentGone(agent);
  FeedAll();
  CheckEnd();
}

void RunEngine::OnFailed(AgentIndex agent, const absl::Status& why, const v1::Failed& last) {
  roster_.board().Failed(agent, why, last);
  LogAgentFailed(roster_.board().name(agent), why, last);
  GoneForGood(agent);
}

// It will not come back.
void RunEngine::GoneForGood(AgentIndex agent) {
  if (book_) book_->AgentGone(agent);
  roster_.Wake();
  FeedAll();
  CheckEnd();
}

void RunEngine::OnAway(AgentIndex agent, const absl::Status& why) {
  const bool first = roster_.board().state(agent) == AgentState::kRunning;
  roster_.board().Away(agent, why);
  if (first) LogAgentAway(roster_.board().name(agent), why);
  if (book_) book_->AgentAway(agent, clock_.Now());
  CheckEnd();
}

void RunEngine::OnStoreFailed(absl::Status why) {
  error_ = std::move(why);
  Stop(RunEnd::kIncomplete, std::string(error_.message()));
}

void RunEngine::OnStreamBroken(const absl::Status& why) {
  if (!absl::IsCancelled(why) && error_.ok()) error_ = why;
  if (absl::IsCancelled(why) && !stopping() && !ended_) nobody_reads_ = true;
  Stop(absl::IsCancelled(why) ? RunEnd::kInterrupted : RunEnd::kIncomplete,
       std::string(why.message()));
}

void RunEngine::Stop(RunEnd end, std::string reason) {
  if (stopping() || ended_) return;
  stop_end_ = end;
  stop_reason_ = std::move(reason);
  end_deadline_ = clock_.Now() + options_.stop_wait;
  for (const auto& taken : std::exchange(waiting_for_room_, {})) taken();
  roster_.CancelAll(stop_reason_);
  CheckEnd();
}

// All agents are gone: the run waits for one to return, but not in silence.
void RunEngine::WatchSolitude(SteadyTime now) {
  if (stopping() || roster_.AnyHere() || book_->AllRecorded()) {
    if (alone_told_ && roster_.AnyHere()) spdlog::warn("an agent is back: the run goes on");
    alone_since_.reset();
    alone_told_ = false;
    return;
  }
  if (!alone_since_) alone_since_ = now;
  const auto alone = now - *alone_since_;
  if (!alone_told_ && alone >= kAloneIsNews) {
    alone_told_ = true;
    spdlog::warn("no agent is here, the run waits for one to return: {}",
                 roster_.board().TroublesInWords());
  }
  if (options_.give_up_after.count() > 0 && alone >= options_.give_up_after) {
    Stop(RunEnd::kIncomplete,
         fmt::format("no agent came back within {} s: {}",
                     std::chrono::duration<double>(options_.give_up_after).count(),
                     roster_.board().TroublesInWords()));
  }
}

// Every record is there, and somebody sits in front of a run that does not end.
void RunEngine::WatchLastWords(SteadyTime now) {
  if (!sessions_ending_ || stopping() || silence_told_) return;
  if (*end_deadline_ - now > options_.finish_wait - kSilenceIsNews) return;
  silence_told_ = true;
  std::vector<std::string> silent;
  for (AgentIndex i = 0; i < roster_.size(); ++i) {
    if (!roster_.session(i).ended()) silent.push_back(roster_.board().name(i));
  }
  if (!silent.empty()) LogLastWordsAwaited(silent, *end_deadline_ - now);
}

// Agents that are heard, and bring nothing.
void RunEngine::WatchRecords(SteadyTime now) {
  const bool room = HasRoom();  // else we do not read what they give
  records_.Pass(now, [this, room](AgentIndex i) {
    return room && roster_.IsHere(i) && book_->LentTo(i) > 0;
  });
  const std::chrono::microseconds timeout(options_.timeout_us);
  for (AgentIndex i = 0; i < records_.size() && !stopping(); ++i) {
    const SteadyTime::duration silence = records_.silence(i);
    const bool is_news = silence >= timeout + kNoRecordIsNews;
    const bool was_news = roster_.board().no_record_for(i).count() > 0;
    if (is_news && !was_news) LogNoRecords(roster_.board().name(i), silence, book_->LentTo(i));
    roster_.board().NoRecordFor(i, is_news ? silence : SteadyTime::duration(0));
    if (silence >= timeout + options_.record_grace) GiveUp(i, silence);
  }
}

void RunEngine::GiveUp(AgentIndex agent, SteadyTime::duration silence) {
  const absl::Status why = absl::DeadlineExceededError(fmt::format(
      "it gave no record for {} s, and had {} URLs to fetch",
      std::chrono::duration_cast<std::chrono::seconds>(silence).count(), book_->LentTo(agent)));
  roster_.session(agent).Abandon();
  roster_.board().Failed(agent, why, {});
  LogAgentGivenUp(roster_.board().name(agent), why);
  GoneForGood(agent);
}

std::vector<Disturbance> RunEngine::Disturbances() const {
  std::vector<Disturbance> disturbed;
  for (AgentIndex i = 0; i < roster_.size(); ++i) {
    const AgentSummary& summary = roster_.board().summary(i);
    const uint64_t moved = TakenFrom(i);
    if (!summary.lost && summary.reconnects == 0 && moved == 0) continue;
    disturbed.push_back({summary.name, summary.lost, summary.reconnects, moved, summary.trouble});
  }
  return disturbed;
}

std::optional<Solitude> RunEngine::alone() const {
  if (!alone_told_ || !alone_since_) return std::nullopt;
  return Solitude{*alone_since_, roster_.board().TroublesInWords()};
}

void RunEngine::EndSessions() {
  sessions_ending_ = true;
  end_deadline_ = clock_.Now() + options_.finish_wait;
  roster_.FinishAll();
}

void RunEngine::CheckEnd() {
  if (ended_) return;
  if (!stopping() && book_) {
    if (book_->AllRecorded() && committed() == book_->counts().recorded && pipe_->idle()) {
      if (!all_recorded_) all_recorded_ = clock_.Now();
      if (!sessions_ending_ && clock_.Now() >= *all_recorded_ + options_.linger) EndSessions();
    } else if (roster_.AllEnded()) {
      Stop(RunEnd::kIncomplete, "no agent is left: " + roster_.board().TroublesInWords());
      return;
    }
  }
  const bool late = end_deadline_ && clock_.Now() >= *end_deadline_;
  if ((stopping() || sessions_ending_) && roster_.AllEnded() &&
      (pipe_->idle() || !error_.ok() || late)) {
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
        self->roster_.board().Lost(agent, "away past the grace period");
        LogAgentLost(self->roster_.board().name(agent));
      }
      self->moved_.Look(*self->book_, self->roster_.board());
      self->FeedAll();
      self->WatchRecords(now);
      self->WatchSolitude(now);
    }
    self->WatchLastWords(now);
    if (self->end_deadline_ && now >= *self->end_deadline_) self->roster_.AbandonAll();
    self->CheckEnd();
  }
}

EngineEnd RunEngine::End() const {
  EngineEnd end;
  end.end = stop_end_.value_or(RunEnd::kComplete);
  end.reason = stop_reason_;
  // Every URL has its record, some of them by our own hand: the target's word is missing.
  const uint64_t crashed = aggregator().outcomes()[static_cast<size_t>(Outcome::kClientCrashed)];
  if (end.end == RunEnd::kComplete && crashed > 0) {
    end.end = RunEnd::kIncomplete;
    end.reason = fmt::format("the target crashed, {} URLs are client_crashed: {}", crashed,
                             roster_.connected() ? roster_.board().TroublesInWords() : "");
  }
  end.error = error_;
  end.nobody_reads = nobody_reads_;
  return end;
}

Task<EngineEnd> RunEngine::WaitEnd(std::shared_ptr<RunEngine> self) {
  while (!self->ended_) co_await self->end_.WaitUntil();
  co_return self->End();
}

Task<CommitPipe::Closed> RunEngine::CloseStore(std::shared_ptr<RunEngine> self, bool build_index) {
  self->ended_ = true;
  self->tick_.Notify();
  // Only who interrupts is in a hurry; the end of DURATION waits for a reader as any other end
  // does.
  const bool hurry = self->stop_end_ == RunEnd::kInterrupted || !self->error_.ok();
  co_return co_await CommitPipe::Close(self->pipe_, hurry, build_index);
}

}  // namespace fetchbench::coordinator
