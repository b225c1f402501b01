#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/net.h"
#include "common/wakeup.h"
#include "coordinator/cli/options.h"
#include "coordinator/input/url_spool.h"
#include "coordinator/run/index_set.h"
#include "coordinator/run/list_loader.h"

namespace fetchbench::coordinator {

// The run's list on its way into the spool, read by a thread of its own while the rest of the run
// is set up; or the spool of an earlier session, opened again. On the control loop.
class ListIntake {
 public:
  struct Events {
    std::function<void(const std::string&)> say;  // for a person
    // Lines that are no URL; `taken` is called once there is room for more. On the loop.
    std::function<void(CommitBatch batch, std::function<void()> taken)> invalid;
    // Whether all of these are committed.
    std::function<bool(const ListCounts& counts)> settled;
    // The list is in the spool, and settled. An error becomes that of the loading.
    std::function<Task<absl::Status>(const ListCounts& counts)> loaded;
  };

  // `options` and `clock` outlive it.
  ListIntake(net::any_io_executor loop, const RunOptions& options, const Clock& clock,
             Events events);
  ~ListIntake();
  ListIntake(const ListIntake&) = delete;
  ListIntake& operator=(const ListIntake&) = delete;

  // The list can be read; the error says why not.
  absl::Status Open();
  // Begins to read it into the spool at `path`. After Open, once.
  absl::Status Start(const std::string& path);
  // Opens the spool at `path` again: what remains are the indices that are not `recorded`. The list
  // counts as read, with `urls` indices, `invalid` of them no URL. Fails when the spool does not
  // hold every other index.
  Task<absl::Status> Reopen(std::string path, uint64_t urls, uint64_t invalid,
                            const IndexSet& recorded);

  // Until the list is read, or `stopped`: OK.
  Task<absl::Status> WaitLoaded(std::function<bool()> stopped);
  // Ends reading.
  void Stop();
  // Until the reading thread has ended.
  Task<> WaitEnded();
  bool loaded() const { return status_.has_value(); }

  LoadedList& list() { return list_; }
  const LoadedList& list() const { return list_; }
  std::string name() const;  // of the list, for people
  // URLs of each partition that are to be lent.
  const std::vector<uint64_t>& remaining() const { return remaining_; }
  absl::StatusOr<std::shared_ptr<const UrlChunk>> Take(uint32_t partition);

 private:
  Task<> Load();
  Task<absl::Status> Settle();
  size_t MaxHosts() const;

  net::any_io_executor loop_;
  const RunOptions& options_;
  const Clock& clock_;
  Events events_;
  int fd_ = -1;
  std::unique_ptr<UrlSpool> spool_;
  LoadedList list_;
  std::vector<uint64_t> remaining_;
  std::optional<absl::Status> status_;  // empty: still reading
  Wakeup changed_;
  Wakeup pause_;
  std::atomic<bool> stop_{false};
};

}  // namespace fetchbench::coordinator
