#include "agent/process/target_pipes.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <utility>

#include "common/spawn.h"

namespace fetchbench::agent {
namespace {

constexpr size_t kReadBytes = 256 << 10;
// A target prints each line when it has it; to read them one by one would cost the agent more than
// all that it does with them. Nobody waits for it: the pipe holds what comes meanwhile, and the
// target has been given URLs for longer (CreditPolicy::kFeedSeconds).
constexpr std::chrono::milliseconds kReadPause{40};
// What comes in bigger pieces is read as it comes.
constexpr size_t kSmallReadBytes = 16 << 10;
constexpr size_t kErrorReadBytes = 4 << 10;

}  // namespace

TargetPipes::TargetPipes(const net::any_io_executor& loop, OurEnds ends, Events events)
    : loop_(loop),
      input_(loop, ends.input.Release()),
      output_(loop, ends.output.Release()),
      errors_(loop, ends.errors.Release()),
      events_(std::move(events)),
      drained_(loop) {}

void TargetPipes::Begin() {
  Spawn(loop_, "target output", ReadOutput(shared_from_this()));
  Spawn(loop_, "target stderr", ReadErrors(shared_from_this()));
}

void TargetPipes::Feed(std::string bytes) {
  writing_ = true;
  Spawn(loop_, "target input", WriteInput(shared_from_this(), std::move(bytes)));
}

void TargetPipes::CloseInput() {
  close_wanted_ = true;
  error_code ignored;
  if (!writing_) input_.close(ignored);
}

Task<bool> TargetPipes::WaitDrained(Self self, SteadyTime deadline) {
  bool in_time = true;
  while (in_time && self->open_outputs_ > 0) in_time = co_await self->drained_.WaitUntil(deadline);
  co_return in_time;
}

void TargetPipes::Close() {
  closed_ = true;
  close_wanted_ = true;
  error_code ignored;
  input_.close(ignored);
  output_.close(ignored);
  errors_.close(ignored);
}

Task<> TargetPipes::WriteInput(Self self, std::string bytes) {
  const auto [error, n] = co_await net::async_write(self->input_, net::buffer(bytes), kAsTuple);
  self->writing_ = false;
  // EPIPE: it reads no more. What that means is decided when it ends, or hangs.
  if (error || self->close_wanted_) {
    error_code ignored;
    self->input_.close(ignored);
  } else if (!self->closed_) {
    self->events_.writable();
  }
}

Task<> TargetPipes::ReadOutput(Self self) {
  std::string buffer(kReadBytes, '\0');
  net::steady_timer pause(self->loop_);
  while (true) {
    const auto [error, n] = co_await self->output_.async_read_some(net::buffer(buffer), kAsTuple);
    if (error || self->closed_) break;
    self->events_.output(std::string_view(buffer.data(), n));
    if (n > kSmallReadBytes) continue;
    pause.expires_after(kReadPause);
    co_await pause.async_wait(kAsTuple);
  }
  self->OneDrained();
}

Task<> TargetPipes::ReadErrors(Self self) {
  std::array<char, kErrorReadBytes> buffer{};
  while (true) {
    const auto [error, n] = co_await self->errors_.async_read_some(net::buffer(buffer), kAsTuple);
    if (error) break;
    self->stderr_.Append(std::string_view(buffer.data(), n));
  }
  self->OneDrained();
}

void TargetPipes::OneDrained() {
  --open_outputs_;
  drained_.Notify();
}

}  // namespace fetchbench::agent
