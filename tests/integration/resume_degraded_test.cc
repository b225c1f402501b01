// A run that lost an agent and then its coordinator: what the coordinator that goes on with it says
// of the sessions before.
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/integration/run_fixture.h"

namespace fetchbench::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Every answer takes 20 ms, so that there is time to lose somebody, however fast the machine is,
// and no TLS, so that it does not take much longer where the machine is slow.
constexpr int kUrls = 800;
constexpr const char* kEven = R"({"name": "even", "http": {"first_byte_ms": {"median": 20}}})";

class ResumeDegradedTest : public RunFixture {
 protected:
  void SetUp() override { folder_.Write("even.json", kEven); }
  // What the journal says, once it says so.
  bool JournalSays(const std::string& words) const {
    for (int i = 0; i < 1000; ++i) {
      if (folder_.Read(Latest("resume.json")).find(words) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }
  // Begins a run over two agents, loses the second past its grace, and then the coordinator.
  void LoseAgentAndCoordinator() {
    one_ = StartAgentAt(0);
    two_ = StartAgentAt(1);
    Program run(Command({"--agents", "one=" + AgentAddress(0) + ",two=" + AgentAddress(1),
                         "--concurrency", "2", "--format", "plain", "--grace", "0.3"},
                        "sim:" + folder_.File("even.json")));
    for (int i = 0; i < kUrls; ++i) run.Write("http://h" + std::to_string(i) + ".example/\n");
    run.CloseInput();
    ASSERT_TRUE(run.WaitForOutput("://h")) << run.error();
    two_->Signal(SIGKILL);
    two_->WaitForExit();
    ASSERT_TRUE(run.WaitForError("URLs were taken back from agent two")) << run.error();
    ASSERT_TRUE(JournalSays("\"name\":\"two\",\"lost\":true"))
        << folder_.Read(Latest("resume.json"));
    run.Signal(SIGKILL);
    run.WaitForExit();
  }

  std::unique_ptr<Program> one_;
  std::unique_ptr<Program> two_;
};

TEST_F(ResumeDegradedTest, AnAgentThatWasLostBeforeIsNamedByTheLastSummary) {
  ASSERT_NO_FATAL_FAILURE(LoseAgentAndCoordinator());
  two_ = StartAgentAt(1);  // undisturbed from here on
  const auto resumed = Resume({"--connect-timeout", "2"});
  EXPECT_EQ(exit_, 0) << resumed->error();
  ExpectBalanced();
  EXPECT_EQ(Ask("SELECT count(*) FROM record"), std::to_string(kUrls));
  const boost::json::value summary = Summary();
  EXPECT_TRUE(summary.at("degraded").as_bool());
  const std::string reason(summary.at("reason").as_string());
  EXPECT_THAT(reason, AllOf(HasSubstr("before the run was resumed: two lost"),
                            HasSubstr("URLs moved"), Not(HasSubstr("one"))));
  EXPECT_THAT(resumed->output(), HasSubstr("before the run was resumed: two lost"));
  const auto& earlier = summary.at("disturbed_earlier").as_array();
  ASSERT_EQ(earlier.size(), 1u);
  EXPECT_EQ(earlier[0].at("name").as_string(), "two");
  EXPECT_GT(earlier[0].at("urls_moved").to_number<int>(), 0);
  EXPECT_EQ(boost::json::serialize(RunJson().at("disturbed_earlier")),
            boost::json::serialize(earlier));
}

TEST_F(ResumeDegradedTest, OneThatStaysAwayIsNamedForBothSessions) {
  ASSERT_NO_FATAL_FAILURE(LoseAgentAndCoordinator());
  const auto resumed = Resume({"--connect-timeout", "2"});
  EXPECT_EQ(exit_, 0) << resumed->error();
  ExpectBalanced();
  const std::string reason(Summary().at("reason").as_string());
  const size_t before = reason.find("before the run was resumed: two lost");
  ASSERT_NE(before, std::string::npos) << reason;
  EXPECT_LT(reason.find("two lost"), before) << reason;
}

}  // namespace
}  // namespace fetchbench::test
