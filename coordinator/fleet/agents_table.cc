#include "coordinator/fleet/agents_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <map>
#include <optional>

#include "common/record_line.h"
#include "common/utf8.h"
#include "coordinator/fleet/memory_trouble.h"
#include "coordinator/fleet/same_agent.h"
#include "coordinator/ui/box_table.h"
#include "coordinator/ui/human_numbers.h"
#include "coordinator/ui/paint.h"
#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

namespace json = boost::json;

constexpr int kLeastStateColumns = 12;
constexpr const char* kNone = "-";

// The columns of an agent, as text; "-" what is not known.
struct Cells {
  std::string name, address, state, version, cpus, memory, docker, load, clock, certificate;
  std::string targets;
};

std::string Or(const std::string& text, const char* otherwise = kNone) {
  return text.empty() ? otherwise : text;
}

std::string Rfc3339(int64_t us, size_t characters) {
  std::string text;
  AppendRfc3339(text, us);
  return text.substr(0, characters);
}

std::string ClockText(int64_t offset_us) {
  const char* sign = offset_us < 0 ? "-" : "+";
  return sign + HumanDuration(std::abs(static_cast<double>(offset_us)));
}

std::string CertificateText(int64_t not_after_us) {
  constexpr size_t kDate = 10;
  return not_after_us == 0 ? kNone : Rfc3339(not_after_us, kDate);
}

Cells CellsOf(const AgentEndpoint& endpoint, const Described& described) {
  Cells c;
  c.name = endpoint.shown();
  c.address = endpoint.address;
  c.state = AgentStateText(described);
  c.version = c.cpus = c.memory = c.docker = c.load = c.clock = c.certificate = c.targets = kNone;
  if (!described.ok()) return c;
  const v1::DescribeResponse& agent = described->response;
  c.version = Or(agent.version());
  c.cpus = fmt::format("{}", agent.host().cpus());
  c.memory = HumanBytes(static_cast<double>(agent.host().memory_bytes()));
  c.docker = Or(agent.host().docker(), "none");
  c.load = fmt::format("{:.2f}", agent.load_permille() / 1000.0);
  c.clock = ClockText(described->clock_offset_us);
  c.certificate = CertificateText(agent.certificate_not_after_us());
  c.targets = Or(fmt::format("{}", fmt::join(agent.targets(), ", ")), "none");
  return c;
}

std::string Painted(const Cells& c, const Described& described, const Paint& paint) {
  if (!described.ok()) return paint.Red(c.state);
  return described->response.busy_run_id().empty() ? paint.Green(c.state) : paint.Yellow(c.state);
}

std::string Join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

struct Fact {
  BoxTable::Column column;
  std::string Cells::*cell;
};

const std::vector<Fact>& Facts() {
  static const std::vector<Fact> facts{{{"version", Align::kLeft}, &Cells::version},
                                       {{"CPUs"}, &Cells::cpus},
                                       {{"memory"}, &Cells::memory},
                                       {{"docker", Align::kLeft}, &Cells::docker},
                                       {{"load"}, &Cells::load},
                                       {{"clock"}, &Cells::clock},
                                       {{"certificate"}, &Cells::certificate}};
  return facts;
}

// Which agents have which targets, in a few words: "native on all, rust/reqwest on 3".
std::string TargetsInWords(const std::vector<Described>& described) {
  std::map<std::string, size_t> counts;
  size_t reached = 0;
  for (const Described& agent : described) {
    if (!agent.ok()) continue;
    ++reached;
    for (const std::string& target : agent->response.targets()) ++counts[target];
  }
  std::vector<std::string> parts;
  for (const auto& [target, count] : counts) {
    parts.push_back(count == reached ? target + " on all" : fmt::format("{} on {}", target, count));
  }
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string Sums(const std::vector<Described>& described) {
  size_t busy = 0;
  size_t lost = 0;
  for (const Described& agent : described) {
    if (!agent.ok()) {
      ++lost;
    } else if (!agent->response.busy_run_id().empty()) {
      ++busy;
    }
  }
  return fmt::format("{} agent{}: {} free, {} busy, {} not reachable", described.size(),
                     described.size() == 1 ? "" : "s", described.size() - busy - lost, busy, lost);
}

// Everything in one table.
BoxTable WideTable(const std::vector<Cells>& rows, const std::vector<std::string>& states) {
  std::vector<BoxTable::Column> columns{
      {"agent", Align::kLeft}, {"address", Align::kLeft}, {"state", Align::kLeft}};
  for (const Fact& fact : Facts()) columns.push_back(fact.column);
  columns.push_back({"targets ready", Align::kLeft});
  BoxTable table(columns);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::string> cells{rows[i].name, rows[i].address, states[i]};
    for (const Fact& fact : Facts()) cells.push_back(rows[i].*fact.cell);
    cells.push_back(rows[i].targets);
    table.AddRow(std::move(cells));
  }
  return table;
}

// Where an agent is and what it does, the latter cut to what is left of the width.
BoxTable StateTable(const std::vector<Cells>& rows, const std::vector<std::string>& states,
                    const TextStyle& style) {
  const std::vector<BoxTable::Column> columns{
      {"agent", Align::kLeft}, {"address", Align::kLeft}, {"state", Align::kLeft}};
  BoxTable without(columns);
  for (const Cells& c : rows) without.AddRow({c.name, c.address, ""});
  const int room = style.width - without.Width() + static_cast<int>(columns[2].header.size());
  BoxTable table(columns);
  for (size_t i = 0; i < rows.size(); ++i) {
    table.AddRow({rows[i].name, rows[i].address,
                  CutTo(states[i], std::max(room, kLeastStateColumns), style.utf8)});
  }
  return table;
}

BoxTable FactsTable(const std::vector<Cells>& rows, const std::vector<Fact>& facts) {
  std::vector<BoxTable::Column> columns{{"agent", Align::kLeft}};
  for (const Fact& fact : facts) columns.push_back(fact.column);
  BoxTable table(columns);
  for (const Cells& row : rows) {
    std::vector<std::string> cells{row.name};
    for (const Fact& fact : facts) cells.push_back(row.*fact.cell);
    table.AddRow(std::move(cells));
  }
  return table;
}

// As many facts beside each other as fit, the rest in further tables. What no agent has is left
// out.
std::vector<BoxTable> FactsTables(const std::vector<Cells>& rows, int width) {
  std::vector<BoxTable> tables;
  std::vector<Fact> facts;
  for (const Fact& fact : Facts()) {
    if (std::ranges::all_of(rows, [&](const Cells& c) { return c.*fact.cell == kNone; })) continue;
    std::vector<Fact> more = facts;
    more.push_back(fact);
    if (!facts.empty() && FactsTable(rows, more).Width() > width) {
      tables.push_back(FactsTable(rows, facts));
      more = {fact};
    }
    facts = std::move(more);
  }
  if (!facts.empty()) tables.push_back(FactsTable(rows, facts));
  return tables;
}

// A line for each agent that had too much memory.
std::string MemoryTroubles(const std::vector<AgentEndpoint>& endpoints,
                           const std::vector<Described>& described, const TextStyle& style) {
  std::string text;
  for (size_t i = 0; i < endpoints.size(); ++i) {
    if (!described[i].ok() || !described[i]->response.has_memory_trouble()) continue;
    const std::string trouble = MemoryTroubleText(described[i]->response.memory_trouble());
    const std::string line = endpoints[i].shown() + " " + trouble;
    text += Join(WrapWords(Harmless(line, !style.utf8), style.width));
  }
  return text;
}

// A line for each agent that was named before by another address.
std::string SecondNames(const std::vector<AgentEndpoint>& endpoints,
                        const std::vector<Described>& described, const TextStyle& style) {
  const std::vector<std::optional<size_t>> same = FindSameAgents(described);
  std::string text;
  for (size_t i = 0; i < endpoints.size(); ++i) {
    if (!same[i]) continue;
    const std::string line = endpoints[i].shown() + " " + SameAgentText(endpoints[*same[i]]);
    text += Join(WrapWords(Harmless(line, !style.utf8), style.width));
  }
  return text;
}

std::string Safe(const std::string& text, const TextStyle& style) {
  return Harmless(text, !style.utf8);
}

}  // namespace

std::string AgentStateText(const Described& described) {
  if (!described.ok()) {
    return "not reachable: " + std::string(described.status().message());
  }
  const v1::DescribeResponse& agent = described->response;
  if (agent.busy_run_id().empty()) return "free";
  constexpr size_t kSeconds = 19;
  return fmt::format("busy with run {} since {}Z", agent.busy_run_id(),
                     Rfc3339(agent.busy_since_us(), kSeconds));
}

std::string AgentsText(const std::vector<AgentEndpoint>& endpoints,
                       const std::vector<Described>& described, const TextStyle& style) {
  std::vector<Cells> rows;
  std::vector<std::string> states;
  for (size_t i = 0; i < endpoints.size(); ++i) {
    Cells c = CellsOf(endpoints[i], described[i]);
    for (std::string* text : {&c.name, &c.address, &c.state, &c.version, &c.docker, &c.targets}) {
      *text = Safe(*text, style);
    }
    states.push_back(Painted(c, described[i], Paint(style.colour)));
    rows.push_back(std::move(c));
  }
  const std::string sums = Sums(described) + "\n" + MemoryTroubles(endpoints, described, style) +
                           SecondNames(endpoints, described, style);
  const BoxTable wide = WideTable(rows, states);
  if (wide.Width() <= style.width) return Join(wide.Lines(style.utf8)) + sums;
  const BoxTable state = StateTable(rows, states, style);
  if (state.Width() > style.width) return AgentsLines(endpoints, described);
  std::string text = Join(state.Lines(style.utf8));
  for (const BoxTable& facts : FactsTables(rows, style.width)) {
    if (facts.Width() > style.width) return AgentsLines(endpoints, described);
    text += Join(facts.Lines(style.utf8));
  }
  const std::string targets = "targets ready: " + Safe(TargetsInWords(described), style);
  return text + Join(WrapWords(targets, style.width)) + sums;
}

std::string AgentsLines(const std::vector<AgentEndpoint>& endpoints,
                        const std::vector<Described>& described) {
  const std::vector<std::optional<size_t>> same = FindSameAgents(described);
  std::string text;
  for (size_t i = 0; i < endpoints.size(); ++i) {
    const Cells c = CellsOf(endpoints[i], described[i]);
    std::string line = endpoints[i].name.empty() ? c.address : c.name + " at " + c.address;
    line += ": " + c.state;
    if (same[i]) line += "; " + SameAgentText(endpoints[*same[i]]);
    if (described[i].ok()) {
      const v1::HostFacts& host = described[i]->response.host();
      line += fmt::format(
          "; fetchbench {}; {}, {}, {} CPUs, {} memory, {}; docker {}; load {}; clock {}; "
          "certificate until {}; targets: {}",
          c.version, Or(host.hostname()), Or(host.cpu_model()), c.cpus, c.memory, Or(host.os()),
          c.docker, c.load, c.clock, c.certificate, c.targets);
      const std::string trouble = MemoryTroubleText(described[i]->response.memory_trouble());
      if (!trouble.empty()) line += "; " + trouble;
    }
    text += Harmless(line) + "\n";
  }
  return text;
}

std::string AgentsJson(const std::vector<AgentEndpoint>& endpoints,
                       const std::vector<Described>& described) {
  const std::vector<std::optional<size_t>> same = FindSameAgents(described);
  json::array agents;
  for (size_t i = 0; i < endpoints.size(); ++i) {
    json::object o{{"name", ValidUtf8(endpoints[i].shown(), kReplacementCharacter)},
                   {"address", ValidUtf8(endpoints[i].address, kReplacementCharacter)},
                   {"reachable", described[i].ok()}};
    if (!described[i].ok()) {
      o["trouble"] = ValidUtf8(std::string(described[i].status().message()), kReplacementCharacter);
      agents.push_back(std::move(o));
      continue;
    }
    const v1::DescribeResponse& agent = described[i]->response;
    const v1::HostFacts& host = agent.host();
    o["busy_run"] = agent.busy_run_id().empty() ? json::value() : json::value(agent.busy_run_id());
    if (!agent.busy_run_id().empty()) o["busy_since_us"] = agent.busy_since_us();
    if (same[i]) o["same_as"] = ValidUtf8(endpoints[*same[i]].shown(), kReplacementCharacter);
    o["version"] = agent.version();
    o["hostname"] = host.hostname();
    o["os"] = host.os();
    o["architecture"] = host.architecture();
    o["cpu_model"] = host.cpu_model();
    o["cpus"] = host.cpus();
    o["memory_bytes"] = host.memory_bytes();
    o["docker"] = host.docker().empty() ? json::value() : json::value(host.docker());
    o["load"] = agent.load_permille() / 1000.0;
    o["clock_offset_us"] = described[i]->clock_offset_us;
    o["round_trip_us"] = described[i]->round_trip_us;
    const int64_t expires = agent.certificate_not_after_us();
    o["certificate_not_after_us"] = expires == 0 ? json::value() : json::value(expires);
    o["targets"] = json::array(agent.targets().begin(), agent.targets().end());
    if (agent.has_memory_trouble()) {
      const v1::MemoryTrouble& trouble = agent.memory_trouble();
      o["memory_trouble"] = {{"at_us", trouble.at_us()},
                             {"memory_bytes", trouble.memory_bytes()},
                             {"limit_bytes", trouble.limit_bytes()},
                             {"dropped_run", trouble.dropped_run_id()}};
    }
    agents.push_back(std::move(o));
  }
  return json::serialize(agents) + "\n";
}

}  // namespace fetchbench::coordinator
