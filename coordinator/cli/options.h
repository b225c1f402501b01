#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/fleet/agent_credentials.h"
#include "coordinator/fleet/agent_endpoint.h"
#include "coordinator/targets/build_arguments.h"
#include "coordinator/targets/target_registry.h"
#include "coordinator/ui/report_writer.h"
#include "coordinator/ui/text_style.h"

namespace fetchbench::coordinator {

class RunMetrics;

enum class Command {
  kPrintText,
  kRun,
  kResume,
  kBench,
  kVerify,
  kAgents,
  kCancel,
  kTargets,
  kImportUrls
};
enum class Web { kSim, kInternet };

struct RunOptions {
  TargetInfo target;                  // no name: none was chosen
  std::string urls = "-";             // path, or "-": standard input
  std::vector<AgentEndpoint> agents;  // empty: start one here
  CredentialsFolders credentials;     // for them; also of kAgents and kCancel
  Web web = Web::kSim;
  std::string profile = "published";  // name or file; with kSim
  std::string origin;                 // "host:port" of a control endpoint; empty: start one here
  uint32_t concurrency = 0;           // for each agent; ParseOptions fills in the target's own
  // Requests to one host at once, for each agent; 0: no limit. ParseOptions fills in the default.
  std::optional<uint32_t> per_host;
  uint64_t limit = std::numeric_limits<uint64_t>::max();
  std::chrono::microseconds duration{0};  // 0: no limit
  std::chrono::milliseconds timeout{5000};
  std::string user_agent;  // empty: the target's own, "fetchbench/<version>"
  uint64_t seed = 1;
  ReportFormat format = ReportFormat::kPretty;
  std::string out = "out";
  std::string progress = "auto";
  bool allow_private = false;
  uint64_t max_body_bytes = 0;                       // 0: the target's default
  uint32_t threads = 0;                              // 0: one for each CPU the target may use
  std::chrono::milliseconds grace{15'000};           // before an agent's URLs go to others
  std::chrono::milliseconds silence{10'000};         // until an agent counts as away
  std::chrono::milliseconds connect_timeout{5'000};  // for the agents to be there at the beginning
  std::chrono::milliseconds give_up_after{0};        // without any agent; 0: wait until one returns
  std::chrono::milliseconds linger{0};  // the targets stay so long after the last record
  std::string log_level = "warn";
  std::string log_format = "text";    // or "json"
  std::string metrics;                // where Prometheus finds its figures; empty: nowhere
  std::shared_ptr<RunMetrics> meter;  // who serves them, set by main; null: nobody

  // What a container target is made of and gets; 0 and empty: the agent's default.
  std::string image;  // of this reference instead of the one built from the target's folder
  uint32_t cpu_permille = 0;
  std::string cpuset;  // "1", "0,2-3"
  uint64_t memory_bytes = 0;
  BuildArguments build_arguments;       // as given
  std::string base_images;              // file; see ReadBaseImages
  bool base_images_must_exist = false;  // it was named
};

// A run that is gone on with keeps its options; what is empty here stays as it was.
struct ResumeOptions {
  std::string run;  // folder or id; empty: the newest
  std::string out = "out";
  std::optional<std::chrono::microseconds> duration;  // from now on
  std::optional<std::chrono::milliseconds> give_up_after;
  std::optional<std::chrono::milliseconds> connect_timeout;
  std::optional<std::string> origin;
  CredentialsFolders credentials;  // none named: those that the run named
  ReportFormat format = ReportFormat::kPretty;
  std::string progress = "auto";
  std::string log_level = "warn";
  std::string log_format = "text";
  std::string metrics;
  std::shared_ptr<RunMetrics> meter;
};

struct ImportOptions {
  std::string format = "auto";
  std::string file = "-";
};

enum class BenchFormat { kPretty, kMarkdown, kCsv, kJson };

struct BenchOptions {
  std::vector<std::string> names;  // of targets; empty: those of the settings
  std::string settings;            // path of settings.json
  uint32_t rounds = 3;
  BenchFormat format = BenchFormat::kPretty;
  RunOptions run;  // what all runs share; concurrency 0: that of settings and targets
};

enum class MatrixFormat { kPretty, kMarkdown, kJson };

struct VerifyOptions {
  std::vector<TargetInfo> targets;  // all of them, unless `named`
  bool named = false;
  std::vector<std::string> only;  // behaviours; "prefix-*" stands for all that begin so; empty: all
  bool resources = true;
  MatrixFormat format = MatrixFormat::kPretty;
  RunOptions run;
};

enum class AgentsFormat { kPretty, kJson };

struct Options {
  Command command = Command::kPrintText;
  std::string text;                   // kPrintText
  RunOptions run;                     // kRun
  ResumeOptions resume;               // kResume
  BenchOptions bench;                 // kBench
  VerifyOptions verify;               // kVerify
  std::vector<AgentEndpoint> agents;  // kAgents, kCancel; empty: see UseInventory
  AgentsFormat agents_format = AgentsFormat::kPretty;
  std::string inventory;  // file to take agents from, or "default"; empty: none named
  ImportOptions import;   // kImportUrls
};

// InvalidArgument: web, origin and agents do not go together. Pure.
absl::Status CheckWeb(const RunOptions& run);

// Understands the command line (without the program's name) and the environment. An option wins
// over its environment variable, that over the default. InvalidArgument is a usage error: one line
// that names what is wrong, where it came from, and what was probably meant. Pure, but for
// ProgramName() in what it says.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments,
                                     const Environment& env, const TargetRegistry& targets);

}  // namespace fetchbench::coordinator
