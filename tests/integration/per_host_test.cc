// --per-host: what the simulated web sees of it.

#include <fstream>

#include "tests/integration/run_fixture.h"

namespace fetchbench::test {
namespace {

using ::testing::HasSubstr;

class PerHostTest : public RunFixture {
 protected:
  // Every answer takes 20 ms, so that requests that may overlap do.
  void SetUp() override {
    std::ofstream(folder_.File("even.json"))
        << R"({"name": "even", "http": {"first_byte_ms": {"median": 20}}})";
  }

  std::unique_ptr<Program> RunEven(const std::string& list, std::vector<std::string> options) {
    options.insert(options.end(), {"--concurrency", "10"});
    auto run = std::make_unique<Program>(Command(options, "sim:" + folder_.File("even.json")));
    run->Write(list);
    run->CloseInput();
    exit_ = run->WaitForExit();
    return run;
  }

  int64_t MostOfAHost() const {
    return Summary().at("origin").at("most_requests_of_a_host").to_number<int64_t>();
  }

  // 50 URLs of one host, and 50 hosts with one each.
  static std::string OneLargeHost() {
    std::string list;
    for (int i = 0; i < 50; ++i) list += "https://large.example/" + std::to_string(i) + "\n";
    return list + List(50);
  }
};

TEST_F(PerHostTest, CapsTheRequestsToOneHostAndStarvesNoOther) {
  const auto run = RunEven(OneLargeHost(), {"--per-host", "2"});
  ASSERT_EQ(exit_, 0) << run->error();
  EXPECT_EQ(MostOfAHost(), 2);
  EXPECT_EQ(Ask("SELECT count(*) FROM records WHERE status = 200"), "100");
  ExpectBalanced();
  // 25 answers one after the other: all others are done long before.
  EXPECT_EQ(Ask("SELECT (SELECT max(start_us + duration_us) FROM record WHERE url NOT LIKE "
                "'%large%') < (SELECT max(start_us) FROM record WHERE url LIKE '%large%')"),
            "1");
  EXPECT_THAT(run->output(), HasSubstr("at most 2 at once to a host"));
  EXPECT_THAT(folder_.Read(Latest("run.json")), HasSubstr(R"("per_host":2)"));
}

TEST_F(PerHostTest, WithoutItASimulatedHostGetsAllAtOnce) {
  const auto run = RunEven(OneLargeHost(), {});
  ASSERT_EQ(exit_, 0) << run->error();
  EXPECT_GT(MostOfAHost(), 2);
}

TEST_F(PerHostTest, HoldsForAllThreadsOfTheTarget) {
  const auto run = RunEven(OneLargeHost(), {"--per-host", "1", "--threads", "3"});
  ASSERT_EQ(exit_, 0) << run->error();
  EXPECT_EQ(MostOfAHost(), 1);
  ExpectBalanced();
}

TEST_F(PerHostTest, AListOfOneHostEnds) {
  std::string list;
  for (int i = 0; i < 300; ++i) list += "http://large.example/" + std::to_string(i) + "\n";
  const auto run = RunEven(list, {"--per-host", "2"});
  ASSERT_EQ(exit_, 0) << run->error();
  EXPECT_EQ(MostOfAHost(), 2);
  ExpectBalanced();
}

}  // namespace
}  // namespace fetchbench::test
