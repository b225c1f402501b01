// Animates an invented run with the real display, so that a person can look at it in a terminal of
// any size: progress_demo --agents 50 --seconds 20 --progress auto. Ends with the summary.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>

#include "common/clock.h"
#include "coordinator/ui/progress_display.h"
#include "coordinator/ui/rate_meter.h"
#include "coordinator/ui/report_writer.h"
#include "coordinator/ui/terminal.h"
#include "samples.h"

namespace fetchbench::coordinator {
namespace {

struct DemoOptions {
  size_t agents = 1;
  double seconds = 10;
  std::string progress = "auto";
  std::string format = "pretty";
  bool log = true;
};

void Advance(ProgressSnapshot& s, const ProgressSnapshot& whole, double elapsed, double seconds) {
  const double share = std::min(1.0, elapsed / seconds);
  const auto part = [&](uint64_t all) {
    return static_cast<uint64_t>(static_cast<double>(all) * share);
  };
  s.elapsed_s = elapsed;
  s.done = part(10'000);
  s.rate_overall = static_cast<double>(s.done) / std::max(elapsed, 0.001);
  s.eta_s = EstimateEta(s.total, s.done, s.rate_now, s.rate_overall);
  s.classes.ok = part(7'980);
  s.classes.client_error = part(970);
  s.classes.server_error = part(21);
  s.classes.exceptions = part(1'027);
  for (size_t i = 0; i < s.outcomes.size(); ++i) s.outcomes[i] = part(whole.outcomes[i] * 3);
  s.bytes = part(2'100'000'000);
  for (AgentProgress& a : s.agents) a.done = s.done / s.agents.size();
}

void Animate(const DemoOptions& options, ProgressDisplay& display) {
  const SystemClock clock;
  const SteadyTime begin = clock.Now();
  const ProgressSnapshot whole = SampleSnapshot(options.agents);
  ProgressSnapshot snapshot = whole;
  Advance(snapshot, whole, 0, options.seconds);
  RateMeter records;
  RateMeter bytes;
  double logged = 0;
  while (true) {
    const SteadyTime now = clock.Now();
    const double elapsed = std::chrono::duration<double>(now - begin).count();
    if (elapsed > options.seconds) break;
    records.Sample(now, snapshot.done);
    bytes.Sample(now, snapshot.bytes);
    snapshot.rate_now = records.PerSecond();
    snapshot.bytes_per_s = bytes.PerSecond();
    Advance(snapshot, whole, elapsed, options.seconds);
    display.Update(snapshot, now);
    if (options.log && elapsed - logged > 2) {
      logged = elapsed;
      display.Log(
          fmt::format("[warning] {:.0f} s: a log line above the display \x1b[31m", elapsed));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

int Run(const DemoOptions& options) {
  Terminal err(STDERR_FILENO, ProcessEnvironment());
  const Terminal out(STDOUT_FILENO, ProcessEnvironment());
  const auto mode = ParseProgressMode(options.progress, err);
  const auto format = ParseReportFormat(options.format);
  if (!mode || !format) {
    fmt::print(stderr,
               "progress_demo: --progress is auto, tty, plain or none; --format pretty, "
               "json, csv, plain or records\n");
    return 2;
  }
  {
    ProgressDisplay display(err, *mode);
    Animate(options, display);
    display.Finish(out.is_terminal() ? LastFrame::kErase : LastFrame::kKeep);
  }
  fmt::print("{}", RenderSummary(SampleSummary(options.agents), *format, out.Style()));
  return 0;
}

}  // namespace
}  // namespace fetchbench::coordinator

int main(int argc, char** argv) {
  CLI::App app("Animates an invented run with fetchbench's live display.");
  fetchbench::coordinator::DemoOptions options;
  app.add_option("--agents", options.agents, "agents of the run (1)");
  app.add_option("--seconds", options.seconds, "how long it takes (10)");
  app.add_option("--progress", options.progress, "auto, tty, plain or none");
  app.add_option("--format", options.format, "pretty, json, csv");
  app.add_option("--log", options.log, "a log line every two seconds (true)");
  CLI11_PARSE(app, argc, argv);
  return fetchbench::coordinator::Run(options);
}
