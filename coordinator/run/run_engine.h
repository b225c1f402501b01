#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/net.h"
#include "common/wakeup.h"
#include "coordinator/run/agent_board.h"
#include "coordinator/run/agent_roster.h"
#include "coordinator/run/agent_session.h"
#include "coordinator/run/commit_batch.h"
#include "coordinator/run/commit_pipe.h"
#include "coordinator/run/lease_book.h"
#include "coordinator/run/record_stream.h"
#include "coordinator/run/record_watch.h"
#include "coordinator/run/run_log.h"
#include "coordinator/run/stored_records.h"
#include "coordinator/summary/aggregator.h"
#include "coordinator/summary/summary.h"

namespace fetchbench::coordinator {

struct EngineOptions {
  SteadyTime::duration grace{};
  AgentSessionLimits session;
  int64_t timeout_us = 0;
  // For the first target to be started, beyond the time in which its agent has to be reached.
  std::chrono::milliseconds start_patience{60'000};
  // After the last record, for the agents to say how the target ended.
  std::chrono::milliseconds finish_wait{20'000};
  // After the last record, before the targets are told that no URL will come: what they still hold
  // on to then shows in what the origin sees.
  std::chrono::milliseconds linger{0};
  // After a stop, for the agents to hand in what was under way.
  std::chrono::milliseconds stop_wait{1'500};
  // An agent that has URLs and gives no record is given up after the timeout of a request and so
  // long: twice what agents wait themselves before they end a target that hangs.
  std::chrono::milliseconds record_grace{60'000};
  // With no agent here for so long the run is given up; 0: it waits until one returns.
  std::chrono::milliseconds give_up_after{0};
};

// No agent is here: since when, and what became of each.
struct Solitude {
  SteadyTime since;
  std::string troubles;
};

// What came of it.
struct EngineEnd {
  RunEnd end = RunEnd::kComplete;
  std::string reason;         // in words; empty: nothing to say
  absl::Status error;         // not OK: this program failed (the store), and the run with it
  bool nobody_reads = false;  // it was stopped because who read the records had enough
};

// Moves URLs to agents and their records into the commit pipe: sessions, lease book, board. All on
// the control loop, in a shared_ptr.
//
// Order of calls: Create, Connect, AddInvalid..., Feed, WaitEnd; Stop at any time.
class RunEngine : public std::enable_shared_from_this<RunEngine> {
 public:
  // With this, the run is alone long enough to be told of.
  static constexpr std::chrono::milliseconds kAloneIsNews{2'000};
  // The same of a last word that does not come.
  static constexpr std::chrono::milliseconds kSilenceIsNews{2'000};
  // The same of a record that does not come, beyond the timeout of a request.
  static constexpr std::chrono::milliseconds kNoRecordIsNews{5'000};

  // `stored`: what an earlier session of the run recorded, in the store at that path; empty: the
  // store is created.
  static absl::StatusOr<std::shared_ptr<RunEngine>> Create(
      net::any_io_executor loop, const Clock& clock, EngineOptions options,
      const std::string& store_path, std::optional<StoredRecords> stored = {});

  // Records go to `fd` too, as they are committed.
  void PrintRecords(int fd, RecordStream::Style style, TextStyle text_style);

  // Dials every agent. Each gets `start`. `boot_id`: of this host, see AgentBoard. What `care`
  // refers to outlives the engine's sessions.
  void Connect(const std::vector<AgentEndpoint>& endpoints, std::string boot_id,
               const v1::Start& start, const AgentCare& care = {});
  // Until every agent wants URLs (so that all get their share of a short list) or has failed, or
  // `limit` has passed. Those that are not `expected` are not waited for (empty: all are). At least
  // one started: OK.
  static Task<absl::Status> WaitConnected(std::shared_ptr<RunEngine> self,
                                          std::chrono::milliseconds limit,
                                          std::vector<bool> expected = {});

  // Records of list lines that are no URL. `taken` is called once there is room for more.
  void AddInvalid(CommitBatch batch, std::function<void()> taken);

  // The list is read: `total` indices, `recorded` of them by AddInvalid or by an earlier session.
  void Feed(uint64_t total, uint64_t recorded, const std::vector<uint64_t>& remaining,
            LeaseBook::ChunkSource source);

  // An early end: cancels everything, and WaitEnd returns within stop_wait or so. The first call
  // counts.
  void Stop(RunEnd end, std::string reason);
  bool stopping() const { return stop_end_.has_value(); }

  // Until all is recorded and committed, or the run was stopped or cannot go on.
  static Task<EngineEnd> WaitEnd(std::shared_ptr<RunEngine> self);
  // See CommitPipe.
  static Task<CommitPipe::Closed> CloseStore(std::shared_ptr<RunEngine> self, bool build_index);

  // See CommitPipe.
  void AddPause(Pause pause) { pipe_->AddPause(pause); }
  const Aggregator& aggregator() const { return pipe_->aggregator(); }
  AgentBoard& board() { return roster_.board(); }
  bool connected() const { return roster_.connected(); }
  // See AgentRoster.
  std::vector<AgentIndex> MayBeBusy() const { return roster_.MayBeBusy(); }
  // Empty before Feed.
  std::optional<LeaseCounts> counts() const;
  uint64_t committed() const { return pipe_->committed(); }
  // Records that earlier sessions left; 0 after Feed.
  uint64_t known() const { return known_.count(); }
  // The same, before Feed and after.
  uint64_t recorded_earlier() const { return recorded_earlier_; }
  // URLs that were taken back from this agent.
  uint64_t TakenFrom(AgentIndex agent) const { return book_ ? book_->TakenFrom(agent) : 0; }
  // The agents of this session that something befell.
  std::vector<Disturbance> Disturbances() const;
  // Empty: an agent is here, or the run does not need one now.
  std::optional<Solitude> alone() const;

 private:
  RunEngine(net::any_io_executor loop, const Clock& clock, EngineOptions options);

  AgentEvents EventsOf(AgentIndex agent);
  void OnStarted(AgentIndex agent, const v1::Started& started,
                 const absl::flat_hash_set<uint64_t>& held);
  void OnBatch(AgentIndex agent, uint32_t epoch, uint64_t seq, std::vector<Record> records);
  void OnFinished(AgentIndex agent, const v1::Finished& finished);
  void OnFailed(AgentIndex agent, const absl::Status& why, const v1::Failed& last);
  void GoneForGood(AgentIndex agent);
  void OnAway(AgentIndex agent, const absl::Status& why);
  void OnCommitted(AgentIndex agent, uint32_t epoch, uint64_t seq, size_t rows);
  void OnRowsMoved();
  void OnStoreFailed(absl::Status why);
  void OnStreamBroken(const absl::Status& why);
  bool HasRoom() const { return pipe_->HasRoom() || stopping(); }

  void FeedAll();
  bool FeedOne(AgentIndex agent);
  void EndSessions();
  void CheckEnd();
  void WatchSolitude(SteadyTime now);
  void WatchLastWords(SteadyTime now);
  void WatchRecords(SteadyTime now);
  void GiveUp(AgentIndex agent, SteadyTime::duration silence);
  static Task<> Tick(std::shared_ptr<RunEngine> self);
  EngineEnd End() const;

  net::any_io_executor loop_;
  const Clock& clock_;
  const RunClock
      run_clock_;  // agents tell the time in the same way: no step of a clock is an offset
  EngineOptions options_;
  std::shared_ptr<CommitPipe> pipe_;
  IndexSet known_;  // recorded by earlier sessions, until Feed
  std::vector<uint64_t> known_by_agent_;
  uint64_t recorded_earlier_ = 0;
  AgentRoster roster_;
  std::unique_ptr<LeaseBook> book_;
  RecordWatch records_{0};
  MovedUrls moved_;
  std::vector<std::function<void()>> waiting_for_room_;
  Wakeup end_;
  Wakeup tick_;
  std::optional<SteadyTime> alone_since_;
  bool alone_told_ = false;
  bool silence_told_ = false;
  bool feeding_ = false;  // guards FeedAll against itself
  bool ended_ = false;
  bool nobody_reads_ = false;
  bool sessions_ending_ = false;
  std::optional<SteadyTime> all_recorded_;
  std::optional<SteadyTime> end_deadline_;
  std::optional<RunEnd> stop_end_;
  std::string stop_reason_;
  absl::Status error_;
};

}  // namespace fetchbench::coordinator
