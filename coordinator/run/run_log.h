#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "coordinator/cli/options.h"
#include "coordinator/run/agent_board.h"
#include "coordinator/run/lease_book.h"
#include "coordinator/summary/summary.h"
#include "coordinator/ui/progress_display.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::coordinator {

// How a coordinator's lines look as text.
inline constexpr const char* kLogPattern = "coordinator: %l: %v";

// The events of a run, a line of the log each. From LogRunBegins on every JSON line names the run.
void LogRunBegins(const RunOptions& options, const std::string& run_id, bool resumed);
void LogRunEnds(const Summary& summary);
// `again`: it had been here before.
void LogAgentHere(const std::string& agent, const v1::Started& started, bool again);
void LogAgentAway(const std::string& agent, const absl::Status& why);
// It is here again, and says that its memory was why it hung up.
void LogAgentMemory(const std::string& agent, const v1::MemoryTrouble& trouble);
// It is heard, has `urls` and gives no record of them.
void LogNoRecords(const std::string& agent, SteadyTime::duration silence, uint64_t urls);
// It is not spoken to any more in this run.
void LogAgentGivenUp(const std::string& agent, const absl::Status& why);
void LogAgentLost(const std::string& agent);
// All records are there, and these agents have not said how their targets ended.
void LogLastWordsAwaited(const std::vector<std::string>& agents, SteadyTime::duration at_most);
// The target crashed, or the run cannot go on there for another reason.
void LogAgentFailed(const std::string& agent, const absl::Status& why, const v1::Failed& last);
void LogBuildBegins(const std::string& agent, const std::string& target);
// It gets the image that another agent has.
void LogImageSent(const std::string& agent, const std::string& target);
// The journal does not say what it runs.
void LogNotNoted(const std::string& agent, const absl::Status& why);
// It refused to start, as it has another image than the run's other agents, or none.
void LogMadeReadyAgain(const std::string& agent, const absl::Status& refused);
void LogPrepared(const std::string& agent, const std::string& target, const v1::TargetFacts& facts);

// What ends the program with an error, whatever the level of the log.
void Complain(ProgressDisplay& display, const RunOptions& options, const std::string& what);

// The same where there is no display.
void Complain(const std::string& log_format, const std::string& what);

// Tells when URLs were taken back from an agent.
class MovedUrls {
 public:
  // What the book says now; a line for each agent with more than at the call before.
  void Look(const LeaseBook& book, const AgentBoard& board);

 private:
  std::vector<uint64_t> told_;  // by agent
};

}  // namespace fetchbench::coordinator
