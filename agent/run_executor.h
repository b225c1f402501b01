#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "agent/agent_counts.h"
#include "agent/credit.h"
#include "agent/line_reader.h"
#include "agent/result_outbox.h"
#include "agent/target_process.h"
#include "agent/text_tail.h"
#include "agent/url_book.h"
#include "common/clock.h"
#include "common/record_line.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

// Waits of a run; tests shorten them.
struct RunLimits {
  OutboxLimits outbox;
  // A live target gives a record within each timeout, because one of its slots comes free. One that
  // has open URLs and gives none for the timeout and this long is killed.
  std::chrono::milliseconds hang_grace{30'000};
  // From SIGTERM to SIGKILL; its last records are taken in that time.
  std::chrono::milliseconds terminate_grace{2'000};
  // For a target to end after its input was closed and all URLs were answered. Long, because some
  // runtimes wait for name look-ups that got no answer (libuv joins its threads: 10 s).
  std::chrono::milliseconds exit_grace{15'000};
};

struct RunSettings {
  std::string run_id;
  std::string target_name;
  uint32_t concurrency = 1;
  uint32_t per_host = 0;  // URLs of one host open at once; 0: no limit
  std::chrono::milliseconds timeout{5'000};
  uint64_t last_committed_seq = 0;
  uint64_t memory_limit_bytes = 0;  // of the daemon; 0: none
  RunLimits limits;
};

// Of the raw text of a failure; a target may send megabytes.
inline constexpr size_t kMaxErrorTextBytes = 4 << 10;
// Of an address, or the name of a protocol's version.
inline constexpr size_t kMaxShortTextBytes = 256;
// Of a reason for a cancellation, as it is logged.
inline constexpr size_t kMaxReasonBytes = 200;

// One run on this agent: leased URLs go to the target, its lines become records in the outbox.
// Knows no stream, no timer and no pipe: calls come in, and messages are asked for. One thread (the
// loop).
//
//   Running --RequestFinish--> Finishing --target ends--> Ended
//      \------ Cancel, Fail, target hangs --> Stopping ----^
class RunExecutor final : public TargetSink {
 public:
  // `on_news` is called when a message may have become available; it must not call back. `target`
  // is started by the caller, with this object as its sink.
  RunExecutor(RunSettings settings, TargetProcess& target, const Clock& clock,
              std::function<void()> on_news);

  // From the coordinator. What breaks the protocol ends the run as Fail does.
  void AddLease(v1::Lease lease);
  void Ack(uint64_t seq);
  void RequestFinish();
  // Ends the target; the records that it still gives are kept, URLs without one have none.
  void Cancel(const std::string& reason);
  void Fail(absl::Status status);

  // A new stream: credit is counted anew and unacknowledged batches are sent again.
  void Attach(uint64_t last_committed_seq);

  // What to send next, if anything. Each answer counts as sent.
  CreditGrant TakeCredit();
  const v1::Batch* NextBatch() { return outbox_.NextUnsent(); }
  // The run is over and every record acknowledged: Finished or Failed.
  std::optional<v1::AgentMessage> Final() const;

  // Every 50 ms or so: what depends on time.
  void Tick();

  void FillProgress(v1::Progress& progress);
  std::vector<uint64_t> HeldLeases() const { return book_.HeldLeases(); }
  bool ended() const { return exit_.has_value(); }

  // Empty: the target lives.
  const std::optional<TargetExit>& exit() const { return exit_; }

  // For the metrics.
  const RecordTally& tally() const { return tally_; }
  uint64_t urls_started() const { return fed_; }
  // Nothing was ever lent to it.
  bool untouched() const { return untouched_; }
  // By the clock that the records are dated with, which no step of the wall clock reaches.
  int64_t WallUs() const { return run_clock_.WallUsAt(clock_.Now()); }
  std::chrono::microseconds stalled() const { return stalled_; }
  uint32_t in_flight() const;
  // The run was cancelled, and did not fail for another reason.
  bool cancelled() const { return cancelled_ && failure_.ok(); }

  // TargetSink.
  void OnOutput(std::string_view bytes) override;
  void OnWritable() override { FeedTarget(); }
  void OnExit(const TargetExit& exit) override;

 private:
  enum class Phase { kRunning, kFinishing, kStopping, kEnded };

  void OnLine(std::string_view line);
  void TellOfBound();
  void CountUnparsable(std::string_view line);
  void AddRecord(Record record, uint64_t lease_id);
  void FeedTarget();
  void Stop();
  void CountStall();
  void CheckHang(SteadyTime now);
  void CheckEnd(SteadyTime now);
  void CloseCrashed();
  std::string OpenUrlText(const TargetExit& exit) const;
  v1::Finished Totals() const;

  const RunSettings settings_;
  TargetProcess& target_;
  const Clock& clock_;
  const std::function<void()> on_news_;
  const RunClock run_clock_;
  const CreditPolicy credit_;
  RateMeter rate_;
  UrlBook book_;
  ResultOutbox outbox_;
  LineReader lines_;
  TextTail bad_lines_{2 << 10};  // the last unparsable lines, as evidence

  Phase phase_ = Phase::kRunning;
  absl::Status failure_;
  std::optional<TargetExit> exit_;
  uint64_t outstanding_credit_ = 0;
  int64_t outstanding_bytes_ = 0;  // below 0: more came than was granted
  bool bytes_granted_ = false;     // on this stream
  bool bound_told_ = false;
  RecordTally tally_;
  uint64_t fed_ = 0;
  uint64_t read_ = 0;
  uint64_t surplus_ = 0;
  uint64_t unparsable_ = 0;
  std::chrono::microseconds stalled_{0};
  std::optional<SteadyTime> stalled_since_;
  SteadyTime last_life_;                  // last record, or first open URL
  std::optional<SteadyTime> terminated_;  // SIGTERM was sent
  std::optional<SteadyTime> all_done_;    // nothing is open and input is closed
  bool untouched_ = true;
  bool cancelled_ = false;
  bool killed_ = false;
  bool hung_ = false;
  bool input_closed_ = false;
};

}  // namespace fetchbench::agent
