#pragma once

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/native/cares_resolver.h"
#include "agent/native/fetch.h"
#include "agent/native/record_writer.h"
#include "agent/native/url_queue.h"

namespace fetchbench::native {

enum class RecordFormat { kPlain, kJsonl };

struct WorkerOptions {
  size_t slots = 1;  // fetches in flight at most
  RecordFormat format = RecordFormat::kPlain;
  std::string resolver;  // "address:port", or empty for the system's
  bool ask_ipv6 = false;
};

// One thread's share of the run: its own event loop, TLS context, resolver, cache and wheel. Takes
// URLs from the queue while it has free slots, and hands record lines to the writer. Run() is for
// the worker's thread; Cancel() and Wake() may be called from any.
class Worker {
 public:
  // `on_fatal` runs on the worker's thread when this process cannot go on.
  static absl::StatusOr<std::unique_ptr<Worker>> Create(
      const WorkerOptions& options, const FetchPolicy& policy, const TrustStore& trust,
      const Clock& clock, const RunClock& run_clock, UrlQueue& queue, RecordWriter& writer,
      std::function<void(const std::string&)> on_fatal);

  // Returns when the queue is at its end and every fetch is over.
  void Run();

  // Cuts everything in flight short.
  void Cancel();

 private:
  using Timer = net::basic_waitable_timer<std::chrono::steady_clock,
                                          net::wait_traits<std::chrono::steady_clock>, Executor>;
  using ActiveList =
      boost::intrusive::list<FetchControl,
                             boost::intrusive::base_hook<boost::intrusive::list_base_hook<
                                 boost::intrusive::tag<FetchControl>,
                                 boost::intrusive::link_mode<boost::intrusive::auto_unlink>>>,
                             boost::intrusive::constant_time_size<false>>;

  Worker(const WorkerOptions& options, TlsContext tls, const Clock& clock,
         const RunClock& run_clock, UrlQueue& queue, RecordWriter& writer,
         std::function<void(const std::string&)> on_fatal);

  void Pump();
  Task<> Slot(std::string first);
  Task<> One(const std::string& url);
  Record TooLong();
  void Append(std::string_view url, const Record& record);
  void Flush();
  void ArmTick();
  void OnTick();
  void FinishIfDone();

  const WorkerOptions options_;
  const Clock& clock_;
  const RunClock& run_clock_;
  UrlQueue& queue_;
  RecordWriter& writer_;
  std::function<void(const std::string&)> on_fatal_;
  net::io_context io_{1};
  TlsContext tls_;
  DeadlineWheel wheel_;
  std::unique_ptr<CaresResolver> resolver_;
  std::unique_ptr<DnsCache> dns_;
  std::vector<char> scratch_;
  std::unique_ptr<FetchEnv> env_;
  Timer tick_;
  ActiveList active_;
  size_t active_count_ = 0;
  size_t consumer_ = 0;
  size_t ticks_ = 0;
  bool at_end_ = false;
  bool cancelled_ = false;
  bool failed_ = false;
  bool waiting_for_writer_ = false;
  std::string lines_;  // finished records not yet handed over
};

}  // namespace fetchbench::native
