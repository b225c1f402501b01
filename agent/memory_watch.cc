#include "agent/memory_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

#include "common/log.h"

namespace fetchbench::agent {
namespace {

namespace level = spdlog::level;

uint64_t Mib(uint64_t bytes) { return bytes >> 20; }

}  // namespace

MemoryWatch::MemoryWatch(uint64_t limit_bytes, MemoryPatience patience, MemoryActions actions)
    : mark_(limit_bytes, patience),
      actions_(std::move(actions)),
      page_bytes_(static_cast<uint64_t>(sysconf(_SC_PAGESIZE))),
      statm_(open("/proc/self/statm", O_RDONLY | O_CLOEXEC)),
      thread_([this] { Run(); }) {
  pthread_setname_np(thread_.native_handle(), "agent-memory");
}

MemoryWatch::~MemoryWatch() {
  stop_.Set();
  thread_.join();
}

void MemoryWatch::Run() {
  pollfd polled{stop_.fd(), POLLIN, 0};
  while (poll(&polled, 1, static_cast<int>(kInterval.count())) <= 0) Look();
}

// The second word of proc_pid_statm(5), in pages. nullopt where it cannot be told.
std::optional<uint64_t> MemoryWatch::ResidentBytes() const {
  std::array<char, 128> buffer{};
  const ssize_t n = pread(statm_.get(), buffer.data(), buffer.size(), 0);
  std::string_view text(buffer.data(), n > 0 ? static_cast<size_t>(n) : 0);
  text.remove_prefix(std::min(text.size(), text.find(' ') + 1));
  uint64_t pages = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), pages);
  if (read.ec != std::errc() || pages == 0) return std::nullopt;
  return pages * page_bytes_;
}

void MemoryWatch::Look() {
  const std::optional<uint64_t> seen = ResidentBytes();
  if (!seen) {
    if (!std::exchange(blind_, true)) {
      spdlog::warn("/proc/self/statm cannot be read: --memory-limit is not kept to");
    }
    return;
  }
  const uint64_t bytes = *seen;
  switch (mark_.Next(bytes, std::chrono::steady_clock::now())) {
    case MemoryStep::kNothing:
      return;
    case MemoryStep::kHangUp: {
      const size_t connections = actions_.hang_up(bytes);
      LogEvent(
          level::warn, "hung_up",
          {{"memory_bytes", bytes}, {"limit_bytes", mark_.limit()}, {"connections", connections}},
          fmt::format("hung up on all {} connections: this agent has {} MiB of memory, its "
                      "limit is {} MiB (--memory-limit); who is connected sends too much, or a run "
                      "needs more, and runs wait for their coordinators to come back",
                      connections, Mib(bytes), Mib(mark_.limit())));
      return;
    }
    case MemoryStep::kTrim:
      malloc_trim(0);
      return;
    case MemoryStep::kDropRun:
      actions_.drop_run(bytes);
      LogEvent(level::err, "memory_held", {{"memory_bytes", bytes}, {"limit_bytes", mark_.limit()}},
               fmt::format("nobody is connected, and still this agent has {} MiB of memory: a "
                           "run under way is dropped; nobody is let in until it has less than {} "
                           "MiB",
                           Mib(bytes), Mib(mark_.limit() - mark_.limit() / 4)));
      return;
    case MemoryStep::kGiveUp:
      LogEvent(level::err, "memory_given_up",
               {{"memory_bytes", bytes}, {"limit_bytes", mark_.limit()}},
               fmt::format("without a connection and without a run for {} s this agent still has "
                           "{} MiB of memory, its limit is {} MiB (--memory-limit): it ends, so "
                           "that it is started afresh; if that comes again, raise the limit",
                           std::chrono::duration<double>(mark_.patience().run).count(), Mib(bytes),
                           Mib(mark_.limit())));
      actions_.give_up();
      return;
    case MemoryStep::kLetIn:
      actions_.let_in();
      LogEvent(
          level::info, "let_in", {{"memory_bytes", bytes}, {"limit_bytes", mark_.limit()}},
          fmt::format("connections are taken again: this agent has {} MiB of memory", Mib(bytes)));
      return;
  }
}

}  // namespace fetchbench::agent
