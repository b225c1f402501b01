#include "coordinator/run/record_stream.h"

#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "common/record_line.h"
#include "common/status_util.h"
#include "coordinator/ui/report_writer.h"
#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

constexpr int kPollMs = 100;
constexpr size_t kFileChunkBytes = 256 * 1024;

// A pipe that poll calls writable takes at least PIPE_BUF bytes without blocking; only a regular
// file may get more at once.
size_t ChunkBytes(int fd) {
  struct stat facts {};
  return fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) ? kFileChunkBytes : PIPE_BUF;
}

}  // namespace

RecordStream::RecordStream(int fd, Style style, TextStyle text_style, Callbacks callbacks)
    : fd_(fd),
      style_(style),
      text_style_(text_style),
      callbacks_(std::move(callbacks)),
      chunk_bytes_(ChunkBytes(fd)),
      thread_([this] { Run(); }) {
  pthread_setname_np(thread_.native_handle(), "record-stream");
}

RecordStream::~RecordStream() { Abandon(); }

void RecordStream::Push(CommitBatch batch) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(batch));
  work_.notify_one();
}

absl::Status RecordStream::Finish() {
  {
    const std::lock_guard lock(mutex_);
    finish_ = true;
    work_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  return status_;
}

void RecordStream::Abandon() {
  abandon_ = true;
  Finish().IgnoreError();
}

void RecordStream::Break(absl::Status why) {
  status_ = why;
  callbacks_.broken(std::move(why));
}

void RecordStream::AppendLines(const CommitBatch& batch, std::string& out) const {
  for (size_t i = 0; i < batch.records.size(); ++i) {
    if (style_ == Style::kColoured) {
      AppendRecordLine(out, batch.Url(i), batch.records[i], text_style_);
    } else if (batch.Url(i).find('@') == std::string_view::npos) {
      AppendPlainLine(out, batch.Url(i), batch.records[i]);
    } else {
      AppendPlainLine(out, HidePassword(batch.Url(i)), batch.records[i]);
    }
  }
}

void RecordStream::Run() {
  std::string out;
  while (true) {
    CommitBatch batch;
    {
      std::unique_lock lock(mutex_);
      work_.wait(lock, [this] { return !queue_.empty() || finish_; });
      if (queue_.empty() || abandon_) return;
      batch = std::move(queue_.front());
      queue_.pop_front();
    }
    out.clear();
    AppendLines(batch, out);
    if (!Write(out)) return;
    callbacks_.written(batch.records.size());
  }
}

bool RecordStream::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    if (abandon_) return false;
    pollfd waiting{.fd = fd_, .events = POLLOUT, .revents = 0};
    const int ready = poll(&waiting, 1, kPollMs);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t n = write(fd_, bytes.data(), std::min(bytes.size(), chunk_bytes_));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0 && errno == EPIPE) {
      Break(absl::CancelledError("nobody reads standard output any more"));
      return false;
    }
    if (n < 0) {
      Break(FromErrno(errno, "standard output: cannot write records"));
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace fetchbench::coordinator
