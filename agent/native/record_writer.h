#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace fetchbench::native {

// Writes record lines to a descriptor on a thread of its own, so that a slow reader of the records
// never holds up a fetch. Workers hand over batches. Thread-safe.
class RecordWriter {
 public:
  // Beyond this backlog workers should not start fetches; see congested().
  static constexpr size_t kBacklogLimit = 4 * 1024 * 1024;

  // `on_closed` runs once, on the writer's thread, when the descriptor cannot be written any more.
  RecordWriter(int fd, std::function<void()> on_closed);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  void Write(std::string lines);
  bool congested() const { return backlog_ > kBacklogLimit; }
  bool failed() const { return failed_; }

  // Waits until everything is written, and ends the thread.
  void Close();

 private:
  void Run();
  bool WriteAll(const std::string& lines);

  int fd_;
  std::function<void()> on_closed_;
  std::atomic<size_t> backlog_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace fetchbench::native
