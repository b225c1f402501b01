#include "agent/native/url_queue.h"

#include <utility>

namespace fetchbench::native {

size_t UrlQueue::AddConsumer(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  consumers_.push_back({std::move(wake)});
  return consumers_.size() - 1;
}

bool UrlQueue::Push(std::string line) {
  std::unique_lock lock(mutex_);
  if (lines_.size() >= capacity_ && !closed_) {
    // Sleeps until half is gone: one wake-up for many lines.
    room_.wait(lock, [this] { return closed_ || lines_.size() <= capacity_ / 2; });
  }
  if (closed_) return false;
  lines_.push_back(std::move(line));
  WakeHungry();
  return true;
}

void UrlQueue::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  room_.notify_all();
  WakeHungry();
}

void UrlQueue::Abandon() {
  const std::lock_guard lock(mutex_);
  lines_.clear();
  closed_ = true;
  room_.notify_all();
  WakeHungry();
}

UrlQueue::Pop UrlQueue::TryPop(size_t consumer, std::string& line) {
  const std::lock_guard lock(mutex_);
  if (lines_.empty()) {
    if (closed_) return Pop::kEnd;
    consumers_[consumer].hungry = true;
    return Pop::kEmpty;
  }
  line = std::move(lines_.front());
  lines_.pop_front();
  if (lines_.size() == capacity_ / 2) room_.notify_one();
  return Pop::kUrl;
}

// All of them: one line wakes one worker too many at worst, and none is forgotten.
void UrlQueue::WakeHungry() {
  for (Consumer& consumer : consumers_) {
    if (std::exchange(consumer.hungry, false)) consumer.wake();
  }
}

}  // namespace fetchbench::native
