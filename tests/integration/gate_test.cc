// `coordinator verify` against clients that are wrong on purpose, and `coordinator bench`. The
// wrong clients are the native fetcher in a container, with options that win over what the
// contract's environment tells it.

#include <filesystem>

#include "tests/integration/run_fixture.h"
#include "tests/support/container_image.h"

namespace fetchbench::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

namespace json = boost::json;

class GateTest : public RunFixture {
 protected:
  // lib/test/NAME: the fetcher with `options`, a Dockerfile's list of strings (", \"--x\"").
  void AddTarget(const std::string& name, const std::string& options,
                 const std::string& deviations = "[]") const {
    const std::string folder = "lib/test/" + name;
    std::filesystem::create_directories(folder_.File(folder));
    folder_.Write(folder + "/target.json", R"({"name": "test/)" + name +
                                               R"(", "kind": "fetch", "language": "C++",
        "method": "wrong", "aliases": [")" + name +
                                               R"("], "concurrency": 10,
        "stage": ["fetchbench-native"], "deviations": )" +
                                               deviations + "}");
    folder_.Write(folder + "/Dockerfile",
                  "FROM scratch\nCOPY bin/ /\n"
                  R"(ENTRYPOINT ["/fetchbench-native", "--format", "jsonl")" +
                      options + "]\n");
  }

  json::object Verify(const std::string& target, const std::vector<std::string>& options) {
    std::vector<std::string> arguments{Bin("fetchbench-coordinator"),
                                       "verify",
                                       target,
                                       "--format",
                                       "json",
                                       "--progress",
                                       "none",
                                       "--out",
                                       Out()};
    arguments.insert(arguments.end(), options.begin(), options.end());
    Program program(arguments, {{"FETCHBENCH_LIB", folder_.File("lib")}});
    program.CloseInput();
    exit_ = program.WaitForExit();
    error_ = program.error();
    boost::system::error_code bad;
    const json::value matrix = json::parse(program.output(), bad);
    EXPECT_FALSE(bad) << program.output() << error_;
    if (bad) return {};
    const json::object column = matrix.at("targets").at(0).as_object();
    EXPECT_EQ(column.at("not_run").as_string(), "") << error_;
    return column;
  }

  static json::object Cell(const json::object& column, std::string_view behaviour) {
    for (const json::value& cell : column.at("cells").as_array()) {
      if (std::string_view(cell.at("behaviour").as_string()) == behaviour) return cell.as_object();
    }
    ADD_FAILURE() << "no row " << behaviour;
    return {{"verdict", "missing"}, {"findings", json::array()}};
  }

  static std::vector<std::string> Observed(const json::object& cell) {
    std::vector<std::string> tokens;
    const json::value* findings = cell.if_contains("findings");
    if (findings == nullptr) return tokens;
    for (const json::value& finding : findings->as_array()) {
      tokens.emplace_back(finding.at("observed").as_string());
    }
    return tokens;
  }

  static std::vector<std::string> Stale(const json::object& column) {
    std::vector<std::string> lines;
    for (const json::value& line : column.at("stale").as_array()) {
      lines.emplace_back(line.as_string());
    }
    return lines;
  }

  std::unique_ptr<Program> Bench(const std::vector<std::string>& options) {
    std::vector<std::string> arguments{Bin("fetchbench-coordinator"),
                                       "bench",
                                       "--web",
                                       "sim:fast",
                                       "--limit",
                                       "50",
                                       "--rounds",
                                       "2",
                                       "--progress",
                                       "none",
                                       "--out",
                                       Out()};
    arguments.insert(arguments.end(), options.begin(), options.end());
    auto program = std::make_unique<Program>(
        arguments, std::map<std::string, std::string>{{"FETCHBENCH_LIB", folder_.File("lib")}});
    program->CloseInput();
    exit_ = program->WaitForExit();
    return program;
  }

  json::value Results() const {
    boost::system::error_code bad;
    return json::parse(folder_.Read("out/bench-latest/results.json"), bad);
  }

  std::string error_;
};

class WrongTargetTest : public GateTest {
 protected:
  void SetUp() override {
    if (EngineSocket().empty()) GTEST_SKIP() << kNoEngine;
  }
};

TEST_F(WrongTargetTest, ARightTargetPasses) {
  AddTarget("right", "");
  const json::object column =
      Verify("right", {"--only", "never-answers,redirect-301,limit-in-flight"});
  EXPECT_EQ(exit_, 0) << error_;
  for (const char* row : {"never-answers", "redirect-301", "limit-in-flight"}) {
    EXPECT_EQ(Cell(column, row).at("verdict").as_string(), "pass") << json::serialize(column);
  }
}

TEST_F(WrongTargetTest, OneThatIgnoresTheDeadlineIsFound) {
  AddTarget("endless", R"(, "--timeout", "5")");
  const json::object column = Verify("endless", {"--only", "never-answers,redirect-301"});
  EXPECT_EQ(exit_, 4) << error_;
  const json::object cell = Cell(column, "never-answers");
  EXPECT_EQ(cell.at("verdict").as_string(), "FAIL");
  EXPECT_THAT(Observed(cell), IsSupersetOf({"late", "open_after_timeout"}));
  EXPECT_EQ(Cell(column, "redirect-301").at("verdict").as_string(), "pass");
}

TEST_F(WrongTargetTest, OneThatTakesMoreThanItsShareIsFound) {
  AddTarget("greedy", R"(, "--concurrency", "200")");
  const json::object cell =
      Cell(Verify("greedy", {"--only", "limit-in-flight"}), "limit-in-flight");
  EXPECT_EQ(exit_, 4) << error_;
  EXPECT_EQ(cell.at("verdict").as_string(), "FAIL");
  EXPECT_THAT(Observed(cell), ElementsAre("in_flight"));
}

TEST_F(WrongTargetTest, OneThatSaysItIsAnotherIsFoundUnlessDeclared) {
  AddTarget("liar", R"(, "--user-agent", "someone-else/1")", R"([{"behaviours": ["redirect-301"],
      "observed": ["user_agent"], "why": "it lies", "reference": "https://example.org/1"}])");
  const json::object column = Verify("liar", {"--only", "redirect-301,redirect-302"});
  EXPECT_EQ(exit_, 4) << error_;
  EXPECT_EQ(Cell(column, "redirect-301").at("verdict").as_string(), "deviation");
  const json::object cell = Cell(column, "redirect-302");
  EXPECT_EQ(cell.at("verdict").as_string(), "FAIL");
  EXPECT_THAT(Observed(cell), ElementsAre("user_agent"));
}

TEST_F(WrongTargetTest, ADeclaredDeviationThatDoesNotHappenIsStale) {
  AddTarget("modest", "", R"([{"behaviours": ["redirect-301"], "observed": ["301"],
      "why": "it says that it does not follow", "reference": "https://example.org/2"}])");
  const json::object column = Verify("modest", {"--only", "redirect-301"});
  EXPECT_EQ(exit_, 4) << error_;
  EXPECT_THAT(Stale(column), ElementsAre(AllOf(HasSubstr("redirect-301"), HasSubstr("301 was"))));
  EXPECT_EQ(Cell(column, "redirect-301").at("verdict").as_string(), "pass");
}

// Those that begin in one second too.
TEST_F(GateTest, EachBenchHasAFolderOfItsOwn) {
  constexpr size_t kBenches = 4;
  std::vector<std::unique_ptr<Program>> benches;
  for (size_t i = 0; i < kBenches; ++i) {
    benches.push_back(std::make_unique<Program>(std::vector<std::string>{
        Bin("fetchbench-coordinator"), "bench", "--web", "sim:fast", "--limit", "5", "--rounds",
        "1", "--progress", "none", "--out", Out(), "native"}));
    benches.back()->CloseInput();
  }
  for (const auto& bench : benches) EXPECT_EQ(bench->WaitForExit(), 0) << bench->error();
  size_t results = 0;
  for (const auto& entry : std::filesystem::directory_iterator(Out())) {
    const bool own = entry.is_directory() && !entry.is_symlink();
    if (own && std::filesystem::exists(entry.path() / "results.json")) ++results;
  }
  EXPECT_EQ(results, kBenches);
}

TEST_F(GateTest, BenchKeepsTheTableOfEveryRound) {
  std::filesystem::create_directories(folder_.File("lib"));
  const auto bench = Bench({"native"});
  ASSERT_EQ(exit_, 0) << bench->error();
  for (const char* column : {"language", "method", "concurrency", "totalUrls", "time", "okReqsSec",
                             "okReqsPct", "avgBodyLen", "2xx", "Exception", "p99"}) {
    EXPECT_THAT(folder_.Read("out/bench-latest/table.txt"), HasSubstr(column));
    EXPECT_THAT(folder_.Read("out/bench-latest/table.md"), HasSubstr(column));
    EXPECT_THAT(folder_.Read("out/bench-latest/table.csv"), HasSubstr(column));
  }
  const json::value results = Results();
  const json::value& row = results.at("targets").at(0);
  EXPECT_EQ(row.at("target").as_string(), "native");
  EXPECT_EQ(row.at("rounds").as_array().size(), 2U);
  EXPECT_FALSE(results.at("partial").as_bool());
  EXPECT_THAT(bench->output(), HasSubstr("totalUrls"));
}

TEST_F(GateTest, BenchCountsTheOthersWhenOneCannotBeRun) {
  AddTarget("broken", "");
  folder_.Write("lib/test/broken/Dockerfile", "FROM scratch\nCOPY not-there /\n");
  folder_.Write("settings.json", R"([{"name": "broken", "concurrency": 5},
                                     {"name": "native", "concurrency": 20}])");
  const auto bench = Bench({"--settings", folder_.File("settings.json")});
  EXPECT_EQ(exit_, 3) << bench->error();
  EXPECT_THAT(bench->output(), AllOf(HasSubstr("test/broken"), HasSubstr("native")));
  const json::value results = Results();
  std::vector<std::string> counted;
  for (const json::value& row : results.at("targets").as_array()) {
    if (row.as_object().contains("figures")) counted.emplace_back(row.at("target").as_string());
  }
  EXPECT_THAT(counted, ElementsAre("native"));
}

}  // namespace
}  // namespace fetchbench::test
