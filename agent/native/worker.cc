#include "agent/native/worker.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <utility>

#include "common/record_line.h"

namespace fetchbench::native {
namespace {

constexpr size_t kScratch = 64 * 1024;        // what one read takes at most
constexpr size_t kMaxUrl = 64 * 1024;         // longer lines are not looked at
constexpr size_t kFlushBytes = 32 * 1024;     // a batch of this size is written at once
constexpr size_t kTicksPerFlush = 10;         // 50 ms
constexpr size_t kTicksPerResolverTick = 10;  // 50 ms

}  // namespace

absl::StatusOr<std::unique_ptr<Worker>> Worker::Create(
    const WorkerOptions& options, const FetchPolicy& policy, const TrustStore& trust,
    const Clock& clock, const RunClock& run_clock, UrlQueue& queue, RecordWriter& writer,
    std::function<void(const std::string&)> on_fatal) {
  auto tls = TlsContext::Create(trust);
  if (!tls.ok()) return tls.status();
  std::unique_ptr<Worker> worker(
      new Worker(options, *std::move(tls), clock, run_clock, queue, writer, std::move(on_fatal)));
  auto resolver = CaresResolver::Create(worker->io_, options.resolver, policy.timeout);
  if (!resolver.ok()) return resolver.status();
  worker->resolver_ = *std::move(resolver);
  worker->dns_ = std::make_unique<DnsCache>(*worker->resolver_, clock, options.ask_ipv6);
  worker->env_ = std::make_unique<FetchEnv>(FetchEnv{worker->io_.get_executor(), clock, run_clock,
                                                     policy, worker->tls_, worker->wheel_,
                                                     *worker->dns_, worker->scratch_});
  return worker;
}

Worker::Worker(const WorkerOptions& options, TlsContext tls, const Clock& clock,
               const RunClock& run_clock, UrlQueue& queue, RecordWriter& writer,
               std::function<void(const std::string&)> on_fatal)
    : options_(options),
      clock_(clock),
      run_clock_(run_clock),
      queue_(queue),
      writer_(writer),
      on_fatal_(std::move(on_fatal)),
      tls_(std::move(tls)),
      wheel_(clock.Now()),
      scratch_(kScratch),
      tick_(io_.get_executor()) {
  consumer_ = queue_.AddConsumer([this] { net::post(io_, [this] { Pump(); }); });
}

void Worker::Run() {
  const auto guard = net::make_work_guard(io_);
  net::post(io_, [this] { Pump(); });
  ArmTick();
  io_.run();
  Flush();
}

void Worker::Cancel() {
  net::post(io_, [this] {
    cancelled_ = true;
    for (FetchControl& control : active_) control.Stop(FetchErrc::kCancelled);
    FinishIfDone();
  });
}

void Worker::Pump() {
  while (!at_end_ && !cancelled_ && !failed_ && active_count_ < options_.slots) {
    // A reader of records that falls behind slows the start of fetches, never a fetch.
    waiting_for_writer_ = writer_.congested();
    if (waiting_for_writer_) return;
    std::string url;
    const UrlQueue::Pop pop = queue_.TryPop(consumer_, url);
    if (pop == UrlQueue::Pop::kEmpty) break;
    if (pop == UrlQueue::Pop::kEnd) {
      at_end_ = true;
      break;
    }
    ++active_count_;
    net::co_spawn(io_.get_executor(), Slot(std::move(url)), [this](std::exception_ptr error) {
      --active_count_;
      if (error) on_fatal_("a fetch threw an exception");
      FinishIfDone();
    });
  }
  FinishIfDone();
}

void Worker::FinishIfDone() {
  if (active_count_ == 0 && (at_end_ || cancelled_ || failed_)) io_.stop();
}

// Fetches one URL after the other until there is none.
Task<> Worker::Slot(std::string first) {
  std::string url = std::move(first);
  while (true) {
    co_await One(url);
    if (cancelled_ || failed_ || writer_.congested()) {
      waiting_for_writer_ = true;
      co_return;
    }
    const UrlQueue::Pop pop = queue_.TryPop(consumer_, url);
    at_end_ = at_end_ || pop == UrlQueue::Pop::kEnd;
    if (pop != UrlQueue::Pop::kUrl) co_return;
  }
}

Task<> Worker::One(const std::string& url) {
  if (url.size() > kMaxUrl) {
    Append(url, TooLong());
    co_return;
  }
  FetchControl control;
  active_.push_back(control);
  const FetchResult result = co_await Fetch(*env_, control, url);
  if (failed_) co_return;
  if (result.fatal) {
    failed_ = true;
    on_fatal_(
        fmt::format("{} while fetching with {} in flight", result.fatal.message(), active_count_));
    for (FetchControl& other : active_) other.Stop(FetchErrc::kCancelled);
    co_return;
  }
  Append(url, result.record);
}

Record Worker::TooLong() {
  Record record;
  record.outcome = Outcome::kInvalidUrl;
  record.error = fmt::format("longer than {} bytes", kMaxUrl);
  record.start_us = run_clock_.WallUsAt(clock_.Now());
  return record;
}

void Worker::Append(std::string_view url, const Record& record) {
  if (options_.format == RecordFormat::kJsonl) {
    AppendJsonLine(lines_, url, record);
  } else {
    AppendPlainLine(lines_, url, record);
  }
  if (lines_.size() >= kFlushBytes) Flush();
}

void Worker::Flush() {
  if (!lines_.empty()) writer_.Write(std::exchange(lines_, {}));
}

void Worker::ArmTick() {
  tick_.expires_after(DeadlineWheel::kTick);
  tick_.async_wait([this](error_code ec) {
    if (ec) return;
    OnTick();
    ArmTick();
  });
}

void Worker::OnTick() {
  ++ticks_;
  const SteadyTime now = clock_.Now();
  wheel_.Advance(now);
  if (ticks_ % kTicksPerResolverTick == 0) resolver_->OnTick(now);
  if (ticks_ % kTicksPerFlush == 0) Flush();
  if (waiting_for_writer_ && !writer_.congested()) Pump();
}

}  // namespace fetchbench::native
