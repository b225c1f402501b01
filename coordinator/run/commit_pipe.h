#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/net.h"
#include "coordinator/run/commit_batch.h"
#include "coordinator/run/record_stream.h"
#include "coordinator/run/run_store.h"
#include "coordinator/run/stored_records.h"
#include "coordinator/summary/aggregator.h"

namespace fetchbench::coordinator {

// Where accepted records go: into the store; then, committed, into the sums, and onto standard
// output if asked. On the control loop, in a shared_ptr; the store's and the stream's threads post
// to it. Push never waits: who pushes looks at HasRoom first.
class CommitPipe : public std::enable_shared_from_this<CommitPipe> {
 public:
  // Records pushed and not yet committed (and printed, with a stream): there is no room for more.
  // About 35 MB.
  static constexpr size_t kMaxRowsInFlight = 100'000;

  // On the loop. None may destroy the pipe.
  struct Events {
    // The batch with this number is committed and holds so many records.
    std::function<void(uint32_t agent, uint32_t epoch, uint64_t seq, size_t rows)> committed;
    std::function<void()> moved;  // rows in flight became fewer
    std::function<void(absl::Status)> store_failed;
    std::function<void(absl::Status)> reader_gone;  // Cancelled: had enough
  };

  // `stored`: what an earlier session left at that path; empty: the file is created.
  static absl::StatusOr<std::shared_ptr<CommitPipe>> Create(net::any_io_executor loop,
                                                            const std::string& store_path,
                                                            int64_t timeout_us,
                                                            std::optional<StoredRecords> stored);

  void set_events(Events events) { events_ = std::move(events); }
  // Records go to `fd` too, as they are committed.
  void Print(int fd, RecordStream::Style style, TextStyle text_style);
  // A stretch of time in which nothing went on, before anything that is pushed from now on.
  void AddPause(Pause pause) { aggregator_.AddPause(pause); }

  void Push(CommitBatch batch);
  bool HasRoom() const { return rows_in_flight_ < kMaxRowsInFlight; }
  bool idle() const { return rows_in_flight_ == 0; }

  // Records in the store, those of earlier sessions included.
  uint64_t committed() const { return committed_; }
  const Aggregator& aggregator() const { return aggregator_; }

  // What went wrong with where records go.
  struct Closed {
    absl::Status store;
    absl::Status output;  // a reader that had enough is no error
  };
  // Closes the store; once. `hurry`: a reader that does not read is not waited for. `build_index`:
  // see RunStore.
  static Task<Closed> Close(std::shared_ptr<CommitPipe> self, bool hurry, bool build_index);

 private:
  CommitPipe(net::any_io_executor loop, Aggregator aggregator)
      : loop_(std::move(loop)), aggregator_(std::move(aggregator)) {}

  void OnCommitted(std::vector<CommitBatch> batches);
  void RowsDone(size_t rows);

  net::any_io_executor loop_;
  Events events_;
  std::unique_ptr<RunStore> store_;
  std::unique_ptr<RecordStream> stream_;
  Aggregator aggregator_;
  size_t rows_in_flight_ = 0;
  uint64_t committed_ = 0;
};

}  // namespace fetchbench::coordinator
