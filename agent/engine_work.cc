#include "agent/engine_work.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "common/utf8.h"

namespace fetchbench::agent {
namespace {

// Lines that wait for a slow coordinator; more are left out.
constexpr size_t kMaxWaitingLines = 1'000;
constexpr std::chrono::seconds kSilence{2};

// The next line; one of our own when it is silent, because only writing tells whether the
// coordinator is still there.
Task<std::optional<std::string>> NextLine(std::shared_ptr<EngineWork> work) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + kSilence;
  while (work->lines.empty() && !work->result) {
    const bool news = co_await work->news.WaitUntil(deadline);
    if (!news) co_return work->silent;
  }
  if (work->lines.empty()) co_return std::nullopt;
  std::string line = std::move(work->lines.front());
  work->lines.pop_front();
  co_return line;
}

}  // namespace

v1::PrepareProgress PrepareWords(std::string message) {
  v1::PrepareProgress progress;
  progress.set_message(ValidUtf8(message));
  return progress;
}

Task<absl::StatusOr<v1::PrepareRequest>> NextPiece(PrepareStream& stream,
                                                   std::chrono::seconds patience,
                                                   const char* what) {
  absl::StatusOr<v1::PrepareRequest> piece =
      co_await stream.Read(std::chrono::steady_clock::now() + patience);
  if (absl::IsDeadlineExceeded(piece.status())) {
    co_return absl::DeadlineExceededError(fmt::format("{} stopped coming", what));
  }
  co_return piece;
}

void EngineWork::OnLine(std::string_view line) {
  if (lines.size() < kMaxWaitingLines) {
    lines.emplace_back(line);
  } else {
    ++left_out;
  }
  news.Notify();
}

void EngineWork::End(absl::Status status) {
  result = std::move(status);
  news.Notify();
}

Task<absl::Status> FollowWork(PrepareStream& stream, std::shared_ptr<EngineWork> work) {
  absl::Status written = absl::OkStatus();
  while (true) {
    std::optional<std::string> line = co_await NextLine(work);
    if (!line) break;
    if (!written.ok()) continue;
    written = co_await stream.Write(PrepareWords(*std::move(line)));
    if (!written.ok()) work->client.CancelAll();
  }
  if (work->left_out > 0 && written.ok()) {
    written =
        co_await stream.Write(PrepareWords(fmt::format("({} lines left out)", work->left_out)));
  }
  co_return written.ok() ? *work->result : written;
}

}  // namespace fetchbench::agent
