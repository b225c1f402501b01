#include "agent/agent_metrics.h"

#include <chrono>
#include <string>

#include "agent/agent_counts.h"
#include "agent/cpu_sampler.h"

namespace fetchbench::agent {
namespace {

double Seconds(std::chrono::microseconds time) {
  return std::chrono::duration<double>(time).count();
}
double SecondsOfUs(uint64_t us) { return static_cast<double>(us) / 1e6; }

void AddRuns(const AgentCounts& counts, const ActiveRun* run, MetricsPage& page) {
  const auto ended = [&page](const char* result, uint64_t count) {
    page.Counter("fetchbench_agent_runs_total",
                 "Runs that ended here, by how; dropped: its coordinator stayed away, or it "
                 "took too much memory.",
                 static_cast<double>(count), {{"result", result}});
  };
  ended("finished", counts.runs_finished);
  ended("cancelled", counts.runs_cancelled);
  ended("failed", counts.runs_failed);
  ended("dropped", counts.runs_dropped);
  page.Gauge("fetchbench_agent_runs_active", "Runs under way: 0 or 1.", run == nullptr ? 0 : 1);
  page.Gauge("fetchbench_agent_coordinator_attached",
             "1 while the run under way has a coordinator's stream, else 0.",
             run != nullptr && run->attached() ? 1 : 0);
  page.Counter("fetchbench_agent_reconnects_total",
               "Streams that took over a run that was under way.",
               static_cast<double>(counts.reconnects));
  page.Counter("fetchbench_agent_streams_refused_total",
               "Streams that got no run: the agent was busy, or the run could not be started.",
               static_cast<double>(counts.streams_refused));
  page.Counter("fetchbench_agent_memory_hangups_total",
               "Times that all connections were ended because the agent's memory was above its "
               "limit.",
               static_cast<double>(counts.memory_hangups));
}

void AddUrls(const RunCounts& urls, const ActiveRun* run, MetricsPage& page) {
  page.Counter("fetchbench_agent_urls_started_total", "URLs given to a target.",
               static_cast<double>(urls.urls_started));
  for (size_t i = 1; i < urls.records.outcomes.size(); ++i) {
    page.Counter("fetchbench_agent_urls_total", "URLs that have their record, by outcome.",
                 static_cast<double>(urls.records.outcomes[i]),
                 {{"outcome", std::string(OutcomeName(static_cast<Outcome>(i)))}});
  }
  page.Gauge("fetchbench_agent_urls_in_flight", "Requests that the target has under way now.",
             run == nullptr ? 0 : static_cast<double>(run->executor().in_flight()));
  page.Seconds("fetchbench_agent_fetch_duration_seconds",
               "How long fetches took, as the target measured it.", urls.records.durations_us);
  page.Counter("fetchbench_agent_body_bytes_total", "Bytes of response bodies.",
               static_cast<double>(urls.records.body_bytes));
  page.Counter("fetchbench_agent_stalled_seconds_total",
               "Time in which no fetch was started, because the coordinator took no records.",
               Seconds(urls.stalled));
  const char* const help = "CPU time of targets, by mode.";
  page.Counter("fetchbench_agent_target_cpu_seconds_total", help, SecondsOfUs(urls.target_user_us),
               {{"mode", "user"}});
  page.Counter("fetchbench_agent_target_cpu_seconds_total", help,
               SecondsOfUs(urls.target_system_us), {{"mode", "system"}});
  page.Gauge("fetchbench_agent_target_resident_memory_bytes",
             "Memory of the target, as last reported to the coordinator.",
             run == nullptr ? 0 : static_cast<double>(run->last_usage().rss_bytes()));
}

void AddBuilds(const AgentCounts& counts, MetricsPage& page) {
  page.Gauge("fetchbench_agent_builds_active", "Image builds under way.", counts.builds_active);
  const char* const help = "Image builds that ended, by result.";
  page.Counter("fetchbench_agent_builds_total", help, static_cast<double>(counts.builds_done),
               {{"result", "ok"}});
  page.Counter("fetchbench_agent_builds_total", help, static_cast<double>(counts.builds_failed),
               {{"result", "failed"}});
  page.Counter("fetchbench_agent_build_seconds_total", "Time that image builds took.",
               Seconds(counts.build_time));
}

void AddConnections(const ConnectionCounts& connections, MetricsPage& page) {
  page.Gauge("fetchbench_agent_connections", "Connections that are open, whoever opened them.",
             static_cast<double>(connections.open));
  page.Counter("fetchbench_agent_connections_refused_total",
               "Connections that were hung up on at once, for want of room.",
               static_cast<double>(connections.refused));
  page.Counter("fetchbench_agent_connections_ended_total",
               "Idle connections that were ended so that others got in.",
               static_cast<double>(connections.ended));
}

}  // namespace

MetricsPage AgentPage(const RunKeeper& keeper, const ConnectionCounts& connections,
                      const Clock& clock) {
  const AgentCounts& counts = keeper.counts();
  const ActiveRun* run = keeper.run();
  RunCounts urls = counts.past;
  if (run != nullptr) urls.Merge(run->counts());
  MetricsPage page;
  page.Gauge("fetchbench_agent_build_info", "1; the labels say what this agent is.", 1,
             {{"version", keeper.config().version}});
  page.Gauge("fetchbench_agent_updated_timestamp_seconds",
             "When these figures were taken; they stand still when the agent does.",
             static_cast<double>(clock.WallUs()) / 1e6);
  AddRuns(counts, run, page);
  AddUrls(urls, run, page);
  AddBuilds(counts, page);
  AddConnections(connections, page);
  const OwnUsage own = ReadOwnUsage();
  page.Counter("fetchbench_agent_cpu_seconds_total", "CPU time of the agent itself.",
               SecondsOfUs(own.cpu_us));
  page.Gauge("fetchbench_agent_resident_memory_bytes", "Memory of the agent itself.",
             static_cast<double>(own.rss_bytes));
  return page;
}

}  // namespace fetchbench::agent
