#include "agent/target_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "agent/native_command.h"
#include "agent/process/child_process.h"
#include "common/utf8.h"
#include "common/wakeup.h"

namespace fetchbench::agent {
namespace {

namespace json = boost::json;

constexpr size_t kMaxDescriptionBytes = 64 << 10;
constexpr std::chrono::milliseconds kStopPoll{100};

std::string Member(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(json::string_view(name.data(), name.size()));
  if (value == nullptr || !value->is_string()) return {};
  return ValidUtf8(std::string_view(value->get_string().data(), value->get_string().size()));
}

// Collects what a short-lived child prints.
class Collector final : public TargetSink {
 public:
  explicit Collector(const net::any_io_executor& loop) : ended(loop) {}
  void OnOutput(std::string_view bytes) override {
    if (output.size() + bytes.size() <= kMaxDescriptionBytes) output += bytes;
  }
  void OnWritable() override {}
  void OnExit(const TargetExit& e) override {
    exit = e;
    ended.Notify();
  }

  Wakeup ended;
  std::string output;
  std::optional<TargetExit> exit;
};

}  // namespace

absl::StatusOr<v1::TargetFacts> ParseTargetFacts(std::string_view text) {
  boost::system::error_code error;
  const json::value value = json::parse(json::string_view(text.data(), text.size()), error);
  if (error || !value.is_object()) {
    return absl::InvalidArgumentError(
        fmt::format("not one JSON object: '{}'", ValidUtf8(text.substr(0, 80))));
  }
  const json::object& object = value.get_object();
  v1::TargetFacts facts;
  facts.set_name(Member(object, "name"));
  facts.set_version(Member(object, "version"));
  facts.set_runtime(Member(object, "runtime"));
  facts.set_tls_library(Member(object, "tls_library"));
  facts.set_tls_groups(Member(object, "tls_groups"));
  facts.set_libc(Member(object, "libc"));
  const json::value* libraries = object.if_contains("libraries");
  if (libraries != nullptr && libraries->is_array()) {
    for (const json::value& library : libraries->get_array()) {
      if (!library.is_string()) continue;
      facts.add_libraries(
          ValidUtf8(std::string_view(library.get_string().data(), library.get_string().size())));
    }
  }
  return facts;
}

Task<absl::StatusOr<v1::TargetFacts>> DescribeTarget(net::any_io_executor loop,
                                                     std::unique_ptr<TargetProcess> process,
                                                     TargetCommand command, std::string what,
                                                     std::chrono::milliseconds patience,
                                                     std::function<bool()> stopping) {
  Collector collector(loop);
  // Destroyed first: the collector outlives it.
  const std::unique_ptr<TargetProcess> running = std::move(process);
  absl::Status started = co_await running->Start(std::move(command), collector);
  if (!started.ok()) co_return started;
  running->CloseInput();
  const SteadyTime deadline = std::chrono::steady_clock::now() + patience;
  SteadyTime now = std::chrono::steady_clock::now();
  while (!collector.exit && !stopping() && now < deadline) {
    co_await collector.ended.WaitUntil(std::min(deadline, now + kStopPoll));
    now = std::chrono::steady_clock::now();
  }
  if (!collector.exit && stopping()) {
    co_return absl::UnavailableError("the agent is shutting down");
  }
  if (!collector.exit) {
    co_return absl::DeadlineExceededError(
        fmt::format("{} did not end within {} ms", what, patience.count()));
  }
  if (collector.exit->code != 0) {
    co_return absl::FailedPreconditionError(fmt::format(
        "{} {}: {}", what, DescribeExit(*collector.exit), ValidUtf8(collector.exit->stderr_tail)));
  }
  absl::StatusOr<v1::TargetFacts> facts = ParseTargetFacts(collector.output);
  if (!facts.ok()) {
    const std::string tail = ValidUtf8(collector.exit->stderr_tail);
    co_return absl::FailedPreconditionError(
        fmt::format("{}: {}{}{}", what, std::string(facts.status().message()),
                    tail.empty() ? "" : "; on standard error: ", tail));
  }
  co_return std::move(facts);
}

Task<absl::StatusOr<v1::TargetFacts>> DescribeChild(net::any_io_executor loop, std::string program,
                                                    std::vector<int> cpus,
                                                    std::chrono::milliseconds patience,
                                                    std::function<bool()> stopping) {
  TargetCommand command;
  command.argv = {program, "--describe"};
  command.environ = TargetEnvironment();
  std::string what = program + " --describe";
  auto child = std::make_unique<ChildProcess>(loop, std::move(cpus));
  co_return co_await DescribeTarget(loop, std::move(child), std::move(command), std::move(what),
                                    patience, std::move(stopping));
}

}  // namespace fetchbench::agent
