// URLs so long that those which a run's concurrency would have are more than an agent's memory.

#include <signal.h>

#include <fstream>
#include <string>

#include "tests/integration/agents_fixture.h"

namespace fetchbench::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class LongUrlsTest : public AgentsFixture {
 protected:
  // Answers take so long that all URLs would be held at once.
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "a sanitizer keeps what is freed, so memory says nothing of the agent";
#endif
    std::ofstream(folder_.File("slow.json"))
        << R"({"name": "slow", "http": {"first_byte_ms": {"median": 1000}}})";
  }
};

// 72 MB of URLs for an agent that has 64 MiB for all.
TEST_F(LongUrlsTest, AnAgentWithLittleMemoryFetchesThemAFewAtATime) {
  Program& agent = StartAgent({"--memory-limit", "64"});
  Program run(Command({"--agents", addresses_, "--concurrency", "1000", "--timeout", "60"},
                      "sim:" + folder_.File("slow.json")));
  run.Write(List(1'200, "/" + std::string(60'000, 'x')));
  run.CloseInput();
  EXPECT_EQ(run.WaitForExit(), 0) << run.error();
  EXPECT_EQ(Ask("SELECT count(*) FROM records WHERE status = 200"), "1200");
  ExpectBalanced();
  EXPECT_THAT(run.error(), Not(HasSubstr("is away")));
  agent.Signal(SIGTERM);
  EXPECT_EQ(agent.WaitForExit(), 0);
  EXPECT_THAT(agent.error(), Not(HasSubstr("hung up on")));
  EXPECT_THAT(agent.error(), HasSubstr("fewer than the concurrency of 1000"));
}

}  // namespace
}  // namespace fetchbench::test
