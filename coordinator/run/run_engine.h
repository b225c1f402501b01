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
#include "coordinator/run/agent_session.h"
#include "coordinator/run/commit_batch.h"
#include "coordinator/run/lease_book.h"
#include "coordinator/run/record_stream.h"
#include "coordinator/run/run_store.h"
#include "coordinator/summary/aggregator.h"
#include "coordinator/summary/summary.h"

namespace fetchbench::coordinator {

struct EngineOptions {
  SteadyTime::duration grace{};
  AgentSessionLimits session;
  int64_t timeout_us = 0;
  // After the last record, for the agents to say how the target ended.
  std::chrono::milliseconds finish_wait{20'000};
  // After the last record, before the targets are told that no URL will come: what they still hold
  // on to then shows in what the origin sees.
  std::chrono::milliseconds linger{0};
  // After a stop, for the agents to hand in what was under way.
  std::chrono::milliseconds stop_wait{1'500};
};

// What came of it.
struct EngineEnd {
  RunEnd end = RunEnd::kComplete;
  std::string reason;  // in words; empty: nothing to say
  absl::Status error;  // not OK: this program failed (the store), and the run with it
};

// Moves URLs to agents and records into the store: sessions, lease book, store, aggregator. All on
// the control loop, in a shared_ptr; the store's and the stream's threads post to the loop.
//
// Order of calls: Create, Connect, AddInvalid..., Feed, WaitEnd; Stop at any time.
class RunEngine : public std::enable_shared_from_this<RunEngine> {
 public:
  // Records accepted and not yet committed (and printed, with a stream): beyond so many, agents are
  // not read from. About 35 MB.
  static constexpr size_t kMaxRowsInFlight = 100'000;

  static absl::StatusOr<std::shared_ptr<RunEngine>> Create(net::any_io_executor loop,
                                                           const Clock& clock,
                                                           EngineOptions options,
                                                           const std::string& store_path);

  // Records go to `fd` too, as they are committed.
  void PrintRecords(int fd, RecordStream::Style style, TextStyle text_style);

  // Dials every agent, `names` for people. Each gets `start`.
  void Connect(const std::vector<std::string>& addresses, const std::vector<std::string>& names,
               std::vector<bool> same_clock, const v1::Start& start);
  // Until every agent wants URLs (so that all get their share of a short list) or has failed, or
  // `limit` has passed. Those that are not `expected` are not waited for (empty: all are). At least
  // one started: OK.
  static Task<absl::Status> WaitConnected(std::shared_ptr<RunEngine> self,
                                          std::chrono::milliseconds limit,
                                          std::vector<bool> expected = {});

  // Records of list lines that are no URL. `taken` is called once there is room for more.
  void AddInvalid(CommitBatch batch, std::function<void()> taken);

  // The list is read: `total` indices, `invalid` of them recorded by AddInvalid.
  void Feed(uint64_t total, uint64_t invalid, const std::vector<uint64_t>& remaining,
            LeaseBook::ChunkSource source);

  // An early end: cancels everything, and WaitEnd returns within stop_wait or so. The first call
  // counts.
  void Stop(RunEnd end, std::string reason);
  bool stopping() const { return stop_end_.has_value(); }

  // Until all is recorded and committed, or the run was stopped or cannot go on.
  static Task<EngineEnd> WaitEnd(std::shared_ptr<RunEngine> self);
  // Closes the store. `build_index`: see RunStore.
  static Task<absl::Status> CloseStore(std::shared_ptr<RunEngine> self, bool build_index);

  const Aggregator& aggregator() const { return aggregator_; }
  AgentBoard& board() { return *board_; }
  bool connected() const { return board_ != nullptr; }
  // Empty before Feed.
  std::optional<LeaseCounts> counts() const;
  uint64_t committed() const { return committed_; }

 private:
  RunEngine(net::any_io_executor loop, const Clock& clock, EngineOptions options);

  AgentEvents EventsOf(AgentIndex agent);
  void OnStarted(AgentIndex agent, const v1::Started& started,
                 const absl::flat_hash_set<uint64_t>& held);
  void OnBatch(AgentIndex agent, uint32_t epoch, uint64_t seq, std::vector<Record> records);
  void OnFinished(AgentIndex agent, const v1::Finished& finished);
  void OnFailed(AgentIndex agent, const absl::Status& why, const v1::Failed& last);
  void OnAway(AgentIndex agent, const absl::Status& why);
  void OnCommitted(std::vector<CommitBatch> batches);
  void OnStoreFailed(absl::Status why);
  void OnStreamBroken(const absl::Status& why);
  void RowsDone(size_t rows);
  bool HasRoom() const { return rows_in_flight_ < kMaxRowsInFlight || stopping(); }

  void FeedAll();
  bool FeedOne(AgentIndex agent);
  void EndSessions();
  void AbandonAway(AgentIndex agent);
  void CheckEnd();
  bool AllEnded() const;
  bool AnyHope() const;
  static Task<> Tick(std::shared_ptr<RunEngine> self);
  EngineEnd End() const;

  net::any_io_executor loop_;
  const Clock& clock_;
  EngineOptions options_;
  std::unique_ptr<RunStore> store_;
  std::unique_ptr<RecordStream> stream_;
  Aggregator aggregator_;
  std::unique_ptr<AgentBoard> board_;
  std::unique_ptr<LeaseBook> book_;
  std::vector<std::shared_ptr<AgentSession>> sessions_;
  std::vector<std::function<void()>> waiting_for_room_;
  Wakeup connected_;
  Wakeup end_;
  Wakeup tick_;
  size_t rows_in_flight_ = 0;
  uint64_t committed_ = 0;
  bool feeding_ = false;  // guards FeedAll against itself
  bool ended_ = false;
  bool sessions_ending_ = false;
  std::optional<SteadyTime> all_recorded_;
  std::optional<SteadyTime> end_deadline_;
  std::optional<RunEnd> stop_end_;
  std::string stop_reason_;
  absl::Status error_;
};

}  // namespace fetchbench::coordinator
