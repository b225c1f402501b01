// What an operator sees: metrics of both programs during a run, the dashboard that asks for them,
// and logs.

#include <signal.h>

#include <algorithm>
#include <boost/json.hpp>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/agents_fixture.h"
#include "tests/support/raw_http2.h"
#include "tests/support/scrape.h"

namespace fetchbench::test {
namespace {

namespace json = boost::json;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

using Samples = std::map<std::string, double>;
// Metric -> names of its labels.
using Known = std::map<std::string, std::set<std::string>>;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path;
  return text.str();
}

// Names of labels in `outcome="a",le="1"` or `outcome, le`.
std::set<std::string> LabelNames(const std::string& text) {
  static const std::regex kValue("\"[^\"]*\"");
  static const std::regex kName("[a-z_]+");
  const std::string names = std::regex_replace(text, kValue, "");
  return {std::sregex_token_iterator(names.begin(), names.end(), kName),
          std::sregex_token_iterator()};
}

void Learn(const Samples& samples, Known& known) {
  static const std::regex kSample("([a-z_]+)(?:\\{(.*)\\})?");
  for (const auto& [sample, value] : samples) {
    std::smatch match;
    if (!std::regex_match(sample, match, kSample)) continue;
    const std::set<std::string> labels = LabelNames(match[2]);
    known[match[1]].insert(labels.begin(), labels.end());
  }
}

// What a text says of metrics that there are not: names, and selectors with labels that they lack.
std::vector<std::string> UnknownIn(const std::string& text, const Known& known) {
  static const std::regex kUse("(fetchbench_(?:agent|coordinator)_[a-z_]+)(?:\\{([^}]*)\\})?");
  std::set<std::string> unknown;
  for (std::sregex_iterator it(text.begin(), text.end(), kUse), end; it != end; ++it) {
    const auto metric = known.find((*it)[1]);
    if (metric == known.end()) {
      unknown.insert((*it)[1]);
      continue;
    }
    for (const std::string& label : LabelNames((*it)[2])) {
      if (!metric->second.contains(label)) unknown.insert(metric->first + "{" + label + "}");
    }
  }
  return {unknown.begin(), unknown.end()};
}

// Every "expr" of a dashboard, wherever it is.
void FindQueries(const json::value& value, std::vector<std::string>& queries) {
  if (value.is_array()) {
    for (const json::value& item : value.get_array()) FindQueries(item, queries);
  } else if (value.is_object()) {
    for (const auto& [name, item] : value.get_object()) {
      if (name == "expr") queries.emplace_back(item.as_string());
      FindQueries(item, queries);
    }
  }
}

class OpsTest : public AgentsFixture {
 protected:
  // A real agent with its metrics, and where those are.
  void StartAgent() {
    const Program& agent = AgentsFixture::StartAgent({"--metrics", "0"});
    agent_url_ = std::string(json::parse(agent.output()).at("metrics").as_string());
  }

  // With a log in JSON and no say about progress.
  std::vector<std::string> JsonCommand(const std::vector<std::string>& options,
                                       const std::string& web) const {
    std::vector<std::string> command = Command(options, web);
    const auto progress = std::find(command.begin(), command.end(), "--progress");
    command.erase(progress, progress + 2);
    command.insert(command.end(), {"--log-format", "json"});
    return command;
  }

  // Where the metrics of a coordinator are that logs it.
  static std::string MetricsUrl(Program& run) {
    EXPECT_TRUE(run.WaitForError("/metrics\n")) << run.error();
    const size_t begin = run.error().find("http://");
    return run.error().substr(begin, run.error().find('\n', begin) - begin);
  }

  static std::vector<json::object> Lines(const Program& program) {
    std::vector<json::object> lines;
    std::istringstream text(program.error());
    std::string line;
    while (std::getline(text, line)) {
      boost::system::error_code error;
      const json::value value = json::parse(line, error);
      EXPECT_TRUE(!error && value.is_object()) << line;
      if (error || !value.is_object()) continue;
      for (const char* member : {"ts", "level", "program", "message"}) {
        EXPECT_TRUE(value.get_object().contains(member)) << line;
      }
      lines.push_back(value.get_object());
    }
    return lines;
  }

  // "program/event" of every line that has one.
  static std::vector<std::string> Events(const std::vector<json::object>& lines) {
    std::vector<std::string> events;
    for (const json::object& line : lines) {
      const json::value* event = line.if_contains("event");
      if (event == nullptr) continue;
      events.push_back(std::string(line.at("program").as_string()) + "/" +
                       std::string(event->as_string()));
    }
    return events;
  }

  std::string agent_url_;
};

// Somebody else who may connect fills the agent's memory meanwhile.
TEST_F(OpsTest, ARunGoesOnWhenItsAgentHungUpOnEverybody) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a sanitizer keeps what is freed, so memory says nothing of the agent";
#endif
  Program& agent = AgentsFixture::StartAgent(
      {"--metrics", "0", "--memory-limit", "128", "--log-format", "json"});
  const std::string metrics(json::parse(agent.output()).at("metrics").as_string());
  const auto metric = [&metrics](const char* name) { return Scrape(metrics)[name]; };
  Program run(Command({"--agents", addresses_, "--format", "plain"}, "sim:published"));
  run.Write(List(300));
  run.CloseInput();
  ASSERT_TRUE(run.WaitForOutput("\n")) << run.error();
  for (int i = 0; i < 100 && metric("fetchbench_agent_memory_hangups_total") == 0; ++i) {
    testing::RawHttp2 attacker(listening_.back(), "");
    testing::SendEndlessHeaders(attacker, size_t{256} << 20);
    // The figures are a second old at most.
    std::this_thread::sleep_for(std::chrono::milliseconds(1'100));
  }
  EXPECT_EQ(run.WaitForExit(), 0) << run.error();
  EXPECT_EQ(Ask("SELECT count(*) FROM record"), "300");
  ExpectBalanced();
  EXPECT_THAT(run.error(), HasSubstr("is back"));
  EXPECT_THAT(run.error(), HasSubstr("its limit is 128 MiB (--memory-limit)"));
  agent.Signal(SIGTERM);
  EXPECT_EQ(agent.WaitForExit(), 0);
  EXPECT_THAT(Events(Lines(agent)), IsSupersetOf({"agent/hung_up", "agent/coordinator_away",
                                                  "agent/let_in", "agent/coordinator_back"}));
}

TEST_F(OpsTest, DashboardAndManualNameMetricsThatThereAre) {
  StartAgent();
  Program run(Command(
      {"--agents", addresses_, "--metrics", "0", "--log-level", "info", "--format", "plain"},
      "sim:published"));
  run.Write(List(5'000));
  run.CloseInput();
  const std::string url = MetricsUrl(run);
  ASSERT_TRUE(run.WaitForOutput("\n")) << run.error();
  Samples coordinator;
  Samples agent;
  const std::string done = "fetchbench_coordinator_urls_total{outcome=\"status\"}";
  for (int i = 0; i < 1'000 && (coordinator[done] == 0 || agent.empty()); ++i) {
    coordinator = Scrape(url);
    agent = Scrape(agent_url_);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_GT(coordinator[done], 0);
  EXPECT_EQ(coordinator["fetchbench_coordinator_runs_active"], 1);
  EXPECT_EQ(coordinator["fetchbench_coordinator_agents{state=\"running\"}"], 1);
  EXPECT_EQ(coordinator["fetchbench_coordinator_list_urls{state=\"lent\"}"] +
                coordinator["fetchbench_coordinator_list_urls{state=\"waiting\"}"] +
                coordinator["fetchbench_coordinator_list_urls{state=\"recorded\"}"],
            5'000);
  EXPECT_GT(coordinator["fetchbench_coordinator_fetch_duration_seconds_count"], 0);
  EXPECT_EQ(agent["fetchbench_agent_runs_active"], 1);
  run.Signal(SIGINT);
  EXPECT_EQ(run.WaitForExit(), 130) << run.error();

  Known known;
  Learn(coordinator, known);
  Learn(agent, known);
  const std::string dashboard = ReadFile(FETCHBENCH_SOURCE "/deploy/grafana/fetchbench.json");
  EXPECT_THAT(UnknownIn(dashboard, known), IsEmpty());
  std::vector<std::string> queries;
  FindQueries(json::parse(dashboard), queries);
  EXPECT_THAT(queries, Not(IsEmpty()));
  EXPECT_THAT(queries, Each(HasSubstr("fetchbench_")));
  const std::string manual = ReadFile(FETCHBENCH_SOURCE "/docs/operations.md");
  EXPECT_THAT(UnknownIn(manual, known), IsEmpty());
  // And the other way round: nothing is served that nobody can look up.
  static const std::regex kSeries("(_bucket|_sum|_count)$");
  for (const auto& [name, labels] : known) {
    if (!name.starts_with("fetchbench_")) continue;
    EXPECT_THAT(manual, HasSubstr(std::regex_replace(name, kSeries, "")));
  }
}

TEST(UnknownInTest, FindsAWrongNameAndAWrongLabel) {
  Known known;
  Learn({{"fetchbench_agent_urls_total{outcome=\"status\"}", 1}, {"fetchbench_agent_x", 1}}, known);
  EXPECT_THAT(UnknownIn("sum by (outcome) (rate(fetchbench_agent_urls_total{outcome!=\"status\"}"
                        "[5m])) + fetchbench_agent_x",
                        known),
              IsEmpty());
  EXPECT_THAT(UnknownIn("rate(fetchbench_agent_url_total[5m])", known),
              ElementsAre("fetchbench_agent_url_total"));
  EXPECT_THAT(UnknownIn("fetchbench_agent_urls_total{result=\"x\"}", known),
              ElementsAre("fetchbench_agent_urls_total{result}"));
}

TEST_F(OpsTest, MetricsThatCannotBeServedAreAUsageError) {
  StartAgent();
  const std::string taken = agent_url_.substr(7, agent_url_.rfind('/') - 7);
  const auto run = Run(List(1), {"--metrics", taken});
  EXPECT_EQ(exit_, 2);
  EXPECT_THAT(run->error(), HasSubstr("cannot serve metrics on " + taken));
  const auto nonsense = Run(List(1), {"--metrics", "example.com:1"});
  EXPECT_EQ(exit_, 2);
  EXPECT_THAT(nonsense->error(), HasSubstr("--metrics"));
}

TEST_F(OpsTest, EveryLineOfAJsonLogIsJsonAndNamesTheRun) {
  Program run(JsonCommand({"--log-level", "info"}, "sim:fast"));
  run.Write(List(50));
  run.CloseInput();
  EXPECT_EQ(run.WaitForExit(), 0) << run.error();
  const std::vector<json::object> lines = Lines(run);
  EXPECT_THAT(Events(lines),
              IsSupersetOf({"coordinator/run_started", "coordinator/agent_connected",
                            "coordinator/run_ended", "agent/run_started", "agent/run_ended"}));
  for (const json::object& line : lines) {
    if (!line.contains("event") || line.at("event") == "target_ready") continue;
    EXPECT_TRUE(line.contains("run")) << json::serialize(line);
  }
}

TEST_F(OpsTest, WhatGoesWrongIsJsonToo) {
  Program run(JsonCommand({}, "sim:no-such-profile"));
  run.Write(List(1));
  run.CloseInput();
  EXPECT_EQ(run.WaitForExit(), 2) << run.error();
  const std::vector<json::object> lines = Lines(run);
  ASSERT_THAT(lines, Not(IsEmpty()));
  const auto is_error = [](const json::object& line) { return line.at("level") == "error"; };
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), is_error)) << run.error();
  // The reason is the origin's own word.
  EXPECT_THAT(run.error(), HasSubstr("\"program\":\"origin\""));
}

TEST_F(OpsTest, AKilledAgentIsALineOfTheLogAndSoAreItsUrls) {
  for (int i = 0; i < 2; ++i) StartAgent();
  Program run(JsonCommand(
      {"--agents", addresses_, "--concurrency", "10", "--grace", "1", "--format", "plain"},
      "sim:published"));
  run.Write(List(200));
  run.CloseInput();
  ASSERT_TRUE(run.WaitForOutput("\n")) << run.error();
  agents_[1]->Signal(SIGKILL);
  EXPECT_EQ(run.WaitForExit(), 0) << run.error();
  const std::vector<json::object> lines = Lines(run);
  EXPECT_THAT(Events(lines), IsSupersetOf({"coordinator/agent_away", "coordinator/agent_lost",
                                           "coordinator/urls_moved"}));
  for (const json::object& line : lines) {
    if (line.contains("event") && line.at("event") == "urls_moved") {
      EXPECT_GT(line.at("urls").to_number<int>(), 0);
      EXPECT_TRUE(line.contains("run"));
    }
  }
  ExpectBalanced();
}

}  // namespace
}  // namespace fetchbench::test
