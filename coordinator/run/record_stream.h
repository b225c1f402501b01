#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "coordinator/run/commit_batch.h"
#include "coordinator/ui/text_style.h"

namespace fetchbench::coordinator {

// Prints committed records to a descriptor, as they come, on a thread of its own: a reader that is
// slow or stopped must not stop the control loop. Push never waits; the caller bounds what it has
// pushed and not seen written. Passwords in URLs are hidden.
class RecordStream {
 public:
  enum class Style { kPlain, kColoured };

  struct Callbacks {
    std::function<void(size_t records)> written;  // on the stream's thread
    std::function<void(absl::Status)> broken;     // once: Cancelled when nobody reads any more
  };

  RecordStream(int fd, Style style, TextStyle text_style, Callbacks callbacks);
  ~RecordStream();  // as Abandon()
  RecordStream(const RecordStream&) = delete;
  RecordStream& operator=(const RecordStream&) = delete;

  void Push(CommitBatch batch);
  // Ends after what was pushed, or after Abandon(). Blocks. As `broken` was told, or OK.
  absl::Status Finish();
  // Ends within about 100 ms, whatever is left.
  void Abandon();

 private:
  void Run();
  void AppendLines(const CommitBatch& batch, std::string& out) const;
  bool Write(std::string_view bytes);
  void Break(absl::Status why);

  int fd_;
  Style style_;
  TextStyle text_style_;
  Callbacks callbacks_;
  size_t chunk_bytes_;  // of one write
  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<CommitBatch> queue_;
  bool finish_ = false;
  std::atomic<bool> abandon_{false};
  absl::Status status_;  // the thread's
  std::thread thread_;
};

}  // namespace fetchbench::coordinator
