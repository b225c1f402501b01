#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace fetchbench::native {

// Lines on their way from the reader's thread to the workers. Bounded, so that standard input is
// read only as URLs are needed. Thread-safe.
class UrlQueue {
 public:
  enum class Pop { kUrl, kEmpty, kEnd };

  explicit UrlQueue(size_t capacity) : capacity_(capacity) {}

  // Called once by each worker before the first Push: `wake` runs on the pushing thread when a
  // worker that found the queue empty may try again.
  size_t AddConsumer(std::function<void()> wake);

  // Waits for room. False when the queue is closed: the line was not taken.
  bool Push(std::string line);

  // No more lines. What is queued is still handed out after Close(), and dropped by Abandon().
  void Close();
  void Abandon();

  Pop TryPop(size_t consumer, std::string& line);

 private:
  struct Consumer {
    std::function<void()> wake;
    bool hungry = false;
  };

  void WakeHungry();

  const size_t capacity_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::deque<std::string> lines_;
  std::vector<Consumer> consumers_;
  bool closed_ = false;
};

}  // namespace fetchbench::native
