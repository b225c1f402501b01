#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/outcome.h"

// What a run came to, as plain data. The run controller fills a Summary, FindMarks() judges it
// (marks.h), and coordinator/ui prints it as a table, JSON or CSV. Units are in the names: _us
// microseconds, _ms milliseconds, _bytes bytes, _fraction 0..1.
namespace fetchbench::coordinator {

// Where every URL of the list went. A run whose ledger does not balance is incomplete.
struct Ledger {
  uint64_t total = 0;          // URL indices of the run, invalid ones included
  uint64_t recorded = 0;       // indices with a committed record
  uint64_t never_started = 0;  // indices without one, because the run was ended before their turn
  // Beside the balance: how often the same index came twice.
  uint64_t duplicates_dropped = 0;  // second records of an index that were counted and dropped
  uint64_t requested_again = 0;     // URLs handed out again after their lease was taken back

  // Indices that nobody can account for (negative: more records than indices).
  int64_t Missing() const {
    return static_cast<int64_t>(total) - static_cast<int64_t>(recorded) -
           static_cast<int64_t>(never_started);
  }
  bool Balanced() const { return Missing() == 0; }
};

// Durations of one class of records. Quantiles are within Histogram::kRelativeError, the rest is
// exact. All 0 when count is 0.
struct DurationStats {
  uint64_t count = 0;
  double mean_us = 0;
  int64_t min_us = 0;
  int64_t p50_us = 0;
  int64_t p90_us = 0;
  int64_t p99_us = 0;
  int64_t p999_us = 0;
  int64_t max_us = 0;
};

// Records by the original benchmark's columns. Each record is in exactly one.
struct StatusClasses {
  uint64_t ok = 0;            // 200..299 read to the end of the body
  uint64_t redirect = 0;      // 300..399
  uint64_t client_error = 0;  // 400..499
  uint64_t server_error = 0;  // 500..599
  uint64_t other_status = 0;  // outcome `status` with 1xx or 600 and above (the original lost them)
  uint64_t exceptions = 0;    // every outcome other than `status`

  uint64_t Total() const {
    return ok + redirect + client_error + server_error + other_status + exceptions;
  }
};

using OutcomeCounts = std::array<uint64_t, kOutcomeCount>;  // index: static_cast<int>(Outcome)

// What the records say. Made by Aggregator, whose header defines each figure.
struct Measured {
  uint64_t total_urls = 0;     // records
  uint64_t timed_urls = 0;     // records that time, avg, max and quantiles are about
  int64_t first_start_us = 0;  // UTC, microseconds since the Unix epoch; 0: nothing was started
  int64_t time_us = 0;
  int64_t wall_us = 0;  // `time` and the pauses in which the coordinator was down
  int64_t time_to_99_us = 0;
  double mean_in_flight = 0;
  double ok_per_second = 0;
  double ok_fraction = 0;
  double mean_ok_body_bytes = 0;
  StatusClasses classes;
  OutcomeCounts outcomes{};
  std::map<int, uint64_t> status_codes;  // exact codes of outcome `status`
  DurationStats all;
  DurationStats ok;         // 2xx only, so that failures cannot hide or flatter them
  DurationStats answered;   // any other status
  DurationStats failed;     // every outcome other than `status`
  DurationStats overshoot;  // duration - timeout, of the records that reached the timeout
  uint64_t body_bytes = 0;  // of all records, after transfer decoding
  std::optional<uint64_t> wire_bytes;  // of the records that tell; empty: none did
  uint64_t redirects = 0;              // hops followed, of the records that tell
};

// Cost of the target, summed over agents; the peak is of the largest agent as well as of all.
struct Cost {
  int64_t user_us = 0;
  int64_t system_us = 0;
  uint64_t peak_rss_bytes_sum = 0;
  uint64_t peak_rss_bytes_max = 0;
  uint32_t open_sockets_max = 0;   // of one agent at one moment; 0: it cannot be told
  int64_t agent_cpu_us = 0;        // what the agents' own processes used, beside the target
  int64_t engine_cpu_us = 0;       // what running the target in a container took beside that
  int64_t coordinator_cpu_us = 0;  // this process, in this run
  std::string basis = {};          // where these come from, and what the peak includes

  // What measuring on the target's host took, as a share of the target's own CPU time; empty: that
  // is 0.
  std::optional<double> MeasuringFraction() const {
    const int64_t target = user_us + system_us;
    if (target <= 0) return std::nullopt;
    return static_cast<double>(agent_cpu_us + engine_cpu_us) / static_cast<double>(target);
  }
};

struct AgentSummary {
  std::string name;  // as given on the command line, or "local"
  std::string host;
  std::string cpu_model;
  std::string target_cpus;  // "1", "2-3"; empty: not pinned
  uint64_t records = 0;
  uint32_t most_in_flight = 0;  // highest of its progress reports
  int64_t target_user_us = 0;
  int64_t target_system_us = 0;
  uint64_t peak_rss_bytes = 0;
  uint32_t open_sockets_max = 0;
  int64_t agent_cpu_us = 0;
  int64_t engine_cpu_us = 0;
  uint64_t unparsable_lines = 0;  // of the target's output
  double other_cpu_busy_max_fraction =
      0;                        // of any one report (about a second): busiest CPU not the target's
  double steal_fraction = 0;    // over the run: mean of its reports
  int64_t stalled_us = 0;       // feeding the target stood still, outbox full
  int64_t clock_offset_us = 0;  // agent's clock minus ours; its records' starts are corrected by it
  uint32_t reconnects = 0;
  uint64_t urls_moved = 0;     // lent to it, taken back, and given to others or to it again
  uint64_t surplus_lines = 0;  // target lines for a URL never asked for or answered before
  std::optional<int> target_exit_code;  // -N: ended by signal N; empty: unknown
  std::string target_stderr;            // its last words, raw; empty: none, or it ended well
  bool lost = false;                    // stayed away past the grace period, or failed for good
  std::string trouble;                  // last error in words, raw; empty: none
};

// What befell an agent that was not undisturbed, as far as it is told to people.
struct Disturbance {
  std::string agent;
  bool lost = false;
  uint32_t reconnects = 0;
  uint64_t urls_moved = 0;
  std::string trouble;  // last error in words, raw; empty: none

  bool operator==(const Disturbance&) const = default;
};

// What the simulated web counted for this run (GET /v1/runs/ID).
struct OriginSummary {
  uint64_t dns_queries = 0;
  uint64_t connections = 0;
  uint64_t tls_handshakes = 0;
  uint64_t requests = 0;
  std::map<int, uint64_t> responses;  // by status code, every hop of a redirect counted
  uint64_t most_in_flight = 0;
  uint64_t most_requests_of_a_host = 0;  // at one time
  uint64_t hosts = 0;
  int64_t lateness_p50_us = 0;  // actual minus planned delay
  int64_t lateness_p99_us = 0;
  int64_t lateness_max_us = 0;
  int64_t cpu_us = 0;
};

// What was run, and on what: results hold for these facts only.
struct RunFacts {
  std::string run_id;
  std::string folder;      // "out/<run-id>"; empty: nothing was stored
  std::string version;     // fetchbench's
  std::string started_at;  // RFC 3339 UTC
  std::string target;      // "native"
  std::string language;    // table column: "C++"
  std::string method;      // table column: "Beast"
  std::string target_version;
  std::string runtime;
  std::vector<std::string> libraries;
  std::string tls_library;
  std::string tls_groups;
  std::string libc;
  std::string image_digest;              // empty: not a container
  std::vector<std::string> base_images;  // what it was built on, with digests; empty: not known
  std::string limits;                    // of the container, in words; empty: none
  std::string host;                      // "name, CPU model, N CPUs, kernel"
  std::string web;                       // "sim" or "internet"
  std::string profile;                   // with sim
  std::string profile_sha256;
  uint64_t seed = 0;
  std::string urls;          // where the list came from: file name, or "standard input"
  uint64_t concurrency = 0;  // total over all agents
  uint64_t concurrency_per_agent = 0;
  uint64_t per_host = 0;  // requests to one host at once; 0: no limit
  int64_t timeout_us = 0;
  int64_t duration_limit_us = 0;  // 0: none
  std::string user_agent;
};

// "Go 1.26.1, net/http": runtime and libraries that really ran.
std::string RuntimeInWords(const RunFacts& facts);

enum class RunEnd {
  kComplete,     // every URL had its turn
  kDuration,     // DURATION was reached; a normal end
  kInterrupted,  // by the user: partial
  kIncomplete,   // agents lost for good, or the target crashed
};

// "complete", "duration_reached", "interrupted", "incomplete".
const char* RunEndName(RunEnd end);

// One thing that makes the figures worth less, with the figure that says so.
struct Mark {
  std::string name;  // stable, for machines: "origin_late"
  std::string text;  // for people: "the origin answered 7.1 ms late (p99; limit 5 ms): ..."
};

struct Summary {
  RunFacts facts;
  RunEnd end = RunEnd::kComplete;
  bool degraded = false;  // complete, but not undisturbed: an agent was lost or reconnected
  // How often the run was taken up again after its coordinator was gone, and how long it was down.
  uint32_t resumed = 0;
  uint64_t recorded_earlier = 0;  // URLs that the sessions before this one recorded
  int64_t down_us = 0;
  std::string resume_command;  // goes on with what is left; empty: there is nothing to go on with
  std::string reason;  // why the run ended early or is degraded, in words; empty: nothing to say
  std::string degraded_by;  // what befell agents, in words; empty: nothing that disturbed the run
  Measured measured;
  Ledger ledger;
  Cost cost;
  std::vector<AgentSummary> agents;
  // Of sessions before the run was taken up again, summed up for each agent.
  std::vector<Disturbance> disturbed_earlier;
  std::optional<OriginSummary> origin;  // with --web sim
  std::string origin_trouble;           // why there is none, of a run that met one
  uint64_t invalid_lines = 0;  // lines of the list that were no URL (recorded as invalid_url)
  std::vector<Mark> marks;     // filled from FindMarks()
};

}  // namespace fetchbench::coordinator
