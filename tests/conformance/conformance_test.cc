// Every named behaviour against the real programs: one origin, one fetcher run over all URLs, one
// case a behaviour.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include "common/record_line.h"
#include "coordinator/verify/behaviour_table.h"
#include "coordinator/verify/judge.h"
#include "origin/behaviours/behaviour.h"
#include "tests/conformance/programs.h"

namespace fetchbench::coordinator {

// What gtest shows of a parameter.
void PrintTo(const Behaviour& behaviour, std::ostream* out) { *out << behaviour.url; }

}  // namespace fetchbench::coordinator

namespace fetchbench::conformance {

using coordinator::Behaviour;
using coordinator::Finding;
using coordinator::ReadBehaviours;

namespace {

namespace json = boost::json;

constexpr std::string_view kUserAgent = "conformance/1.0";
#if defined(__SANITIZE_ADDRESS__)
constexpr double kTimeoutS = 8;  // below the 20 s of what comes too late
#else
constexpr double kTimeoutS = 2;
#endif
// A fetcher that honours its deadline does so within this, on a machine however busy.
constexpr double kSlackS = 5;
// More than there are behaviours, so that the slow ones wait side by side.
constexpr int kConcurrency = 300;
// A fetcher that still runs then does not stop at its deadlines; the busiest machine is faster.
constexpr double kRunLimitS = 60;

const std::vector<Behaviour>& Table() {
  static const auto table = ReadBehaviours(FETCHBENCH_BEHAVIOURS_JSON);
  static const std::vector<Behaviour> none;
  return table.ok() ? *table : none;
}

// What the fetcher said and what the origin saw; made once for all cases.
struct MatrixResult {
  absl::Status status = absl::OkStatus();
  std::multimap<std::string, Record> records;  // by URL
  std::map<std::string, json::object> seen;    // GET /v1/hosts/NAME by behaviour's name
};

std::string ConfigText(const json::object& config, std::string_view name) {
  const json::value* v = config.if_contains(name);
  return v != nullptr && v->is_string() ? std::string(v->get_string()) : std::string();
}

std::vector<std::string> FetcherCommand(const json::object& config, const std::string& ca_file,
                                        double timeout_s) {
  std::vector<std::string> command = {FETCHBENCH_NATIVE,
                                      "--format",
                                      "jsonl",
                                      "--timeout",
                                      fmt::format("{}", timeout_s),
                                      "--concurrency",
                                      fmt::format("{}", kConcurrency),
                                      "--user-agent",
                                      std::string(kUserAgent),
                                      "--resolver",
                                      ConfigText(config, "dns"),
                                      "--ca-file",
                                      ca_file};
  if (const json::value* rules = config.if_contains("connect_to"); rules && rules->is_array()) {
    for (const json::value& rule : rules->get_array()) {
      command.emplace_back("--connect-to");
      command.emplace_back(rule.is_string() ? std::string(rule.get_string()) : std::string());
    }
  }
  return command;
}

absl::Status Fetch(const json::object& config, const std::string& ca_file, MatrixResult& run) {
  std::map<double, std::string> lists;
  for (const Behaviour& b : Table()) {
    lists[b.timeout_s > 0 ? b.timeout_s : kTimeoutS] += b.url + "\n";
  }
  for (const auto& [timeout_s, urls] : lists) {
    const auto output = RunProgram(FetcherCommand(config, ca_file, timeout_s), urls, kRunLimitS);
    if (!output.ok()) return output.status();
    for (size_t at = 0; at < output->size();) {
      const size_t end = std::min(output->find('\n', at), output->size());
      const auto line = ParseJsonLine(std::string_view(*output).substr(at, end - at));
      if (!line.ok()) return line.status();
      run.records.emplace(line->url, line->record);
      at = end + 1;
    }
  }
  return absl::OkStatus();
}

absl::Status RunMatrix(MatrixResult& run) {
  const auto table = ReadBehaviours(FETCHBENCH_BEHAVIOURS_JSON);
  if (!table.ok()) return table.status();
  auto origin =
      OriginProcess::Start({FETCHBENCH_ORIGIN, "--profile", "fast", "--exit-with-parent"});
  if (!origin.ok()) return origin.status();
  const auto config = origin->Get("/v1/config");
  if (!config.ok()) return config.status();
  const auto ca = origin->Get("/v1/ca.pem");
  if (!ca.ok()) return ca.status();
  boost::system::error_code error;
  const json::value parsed = json::parse(*config, error);
  if (error || !parsed.is_object()) return absl::InternalError("bad config: " + *config);
  const std::string ca_file = testing::TempDir() + fmt::format("conformance-ca-{}.pem", getpid());
  std::ofstream(ca_file) << *ca;
  absl::Status fetched = Fetch(parsed.get_object(), ca_file, run);
  std::remove(ca_file.c_str());
  if (!fetched.ok()) return fetched;
  for (const Behaviour& b : *table) {
    const auto seen = origin->Get("/v1/hosts/" + b.name + ".conformance.test");
    if (!seen.ok()) return seen.status();
    const json::value host = json::parse(*seen, error);
    if (error || !host.is_object()) return absl::InternalError("bad answer: " + *seen);
    run.seen[b.name] = host.get_object();
  }
  return absl::OkStatus();
}

const MatrixResult& Matrix() {
  static const MatrixResult* const run = [] {
    auto* r = new MatrixResult;
    r->status = RunMatrix(*r);
    return r;
  }();
  return *run;
}

TEST(BehaviourTableTest, IsReadable) {
  const auto table = ReadBehaviours(FETCHBENCH_BEHAVIOURS_JSON);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_GE(table->size(), 75U);
}

TEST(BehaviourTableTest, NamesAndUrlsAreUnique) {
  std::set<std::string> names;
  std::set<std::string> urls;
  for (const Behaviour& b : Table()) {
    EXPECT_TRUE(names.insert(b.name).second) << b.name;
    EXPECT_TRUE(urls.insert(b.url).second) << b.url;
  }
}

TEST(BehaviourTableTest, HoldsWhatTheOriginPlaysAndNothingElse) {
  std::vector<std::string> described;
  for (const Behaviour& b : Table()) described.push_back(b.name);
  std::vector<std::string> played;
  for (const auto* host : origin::AllBehaviours()) played.emplace_back(host->name);
  EXPECT_THAT(described, testing::UnorderedElementsAreArray(played));
}

TEST(ConformanceTest, EveryUrlHasOneRecord) {
  ASSERT_TRUE(Matrix().status.ok()) << Matrix().status;
  EXPECT_EQ(Matrix().records.size(), Table().size());
  for (const Behaviour& b : Table()) EXPECT_EQ(Matrix().records.count(b.url), 1U) << b.url;
}

class ConformanceBehaviourTest : public testing::TestWithParam<Behaviour> {};

TEST_P(ConformanceBehaviourTest, EndsAsDescribed) {
  const Behaviour& b = GetParam();
  if (!Matrix().status.ok()) GTEST_SKIP() << "the run failed, see EveryUrlHasOneRecord";
  const auto it = Matrix().records.find(b.url);
  ASSERT_NE(it, Matrix().records.end()) << "no record of " << b.url;
  const Record& record = it->second;
  coordinator::PolicyAsked asked;
  asked.timeout_us = std::llround(((b.timeout_s > 0 ? b.timeout_s : kTimeoutS) + kSlackS) * 1e6);
  for (const Finding& finding : coordinator::Judge(b, record, {}, asked)) {
    ADD_FAILURE() << finding.text << "\n"
                  << b.about << "\nerror: " << record.error
                  << "\nduration: " << record.duration_us / 1000 << " ms";
  }
}

// One request policy: what every request that reached the origin must look like.
TEST_P(ConformanceBehaviourTest, AsksByThePolicy) {
  const Behaviour& b = GetParam();
  if (!Matrix().status.ok()) GTEST_SKIP() << "the run failed, see EveryUrlHasOneRecord";
  const json::object& seen = Matrix().seen.at(b.name);
  const json::value* requests = seen.if_contains("requests");
  ASSERT_TRUE(requests != nullptr && requests->is_array()) << json::serialize(seen);
  for (const json::value& request : requests->get_array()) {
    const json::object& object = request.get_object();
    std::map<std::string, std::string> headers;
    for (const auto& [name, value] : object.at("headers").get_object()) {
      std::string lower(name);
      std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return tolower(c); });
      EXPECT_TRUE(headers.emplace(lower, std::string(value.get_string())).second)
          << lower << " is sent twice";
    }
    EXPECT_EQ(ConfigText(object, "method"), "GET");
    EXPECT_EQ(headers["host"], b.name + ".conformance.test");
    EXPECT_EQ(headers["user-agent"], kUserAgent);
    EXPECT_EQ(headers["accept-encoding"], "identity");
    EXPECT_EQ(headers["accept"], "*/*");
    EXPECT_FALSE(headers.contains("cookie"));
    EXPECT_EQ(ConfigText(object, "target").find('#'), std::string::npos) << "a fragment was sent";
  }
}

std::string CaseName(const testing::TestParamInfo<Behaviour>& behaviour) {
  std::string name = behaviour.param.name;
  std::ranges::replace(name, '-', '_');  // gtest's names are identifiers
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, ConformanceBehaviourTest, testing::ValuesIn(Table()), CaseName);

}  // namespace
}  // namespace fetchbench::conformance
