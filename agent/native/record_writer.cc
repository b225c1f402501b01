#include "agent/native/record_writer.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace fetchbench::native {

RecordWriter::RecordWriter(int fd, std::function<void()> on_closed)
    : fd_(fd), on_closed_(std::move(on_closed)), thread_([this] { Run(); }) {}

RecordWriter::~RecordWriter() { Close(); }

void RecordWriter::Write(std::string lines) {
  if (lines.empty() || failed_) return;
  const std::lock_guard lock(mutex_);
  backlog_ += lines.size();
  if (waiting_.empty()) {
    waiting_ = std::move(lines);
  } else {
    waiting_ += lines;
  }
  changed_.notify_one();
}

void RecordWriter::Close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void RecordWriter::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::string lines = std::exchange(waiting_, {});
    lock.unlock();
    const bool ok = WriteAll(lines);
    backlog_ -= lines.size();
    if (!ok && !failed_.exchange(true)) on_closed_();
    lock.lock();
  }
}

bool RecordWriter::WriteAll(const std::string& lines) {
  size_t done = 0;
  while (done < lines.size()) {
    const ssize_t n = write(fd_, lines.data() + done, lines.size() - done);
    if (n >= 0) {
      done += static_cast<size_t>(n);
    } else if (errno == EAGAIN) {
      pollfd polled{fd_, POLLOUT, 0};
      poll(&polled, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace fetchbench::native
