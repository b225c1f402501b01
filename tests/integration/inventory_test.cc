// Commands that take their agents from an inventory, and agents of another version.

#include "tests/integration/agents_fixture.h"
#include "tests/support/fake_agent.h"

namespace fetchbench::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class InventoryTest : public AgentsFixture {
 protected:
  std::unique_ptr<Program> Coordinator(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), Bin("fetchbench-coordinator"));
    auto program = std::make_unique<Program>(arguments);
    exit_ = program->WaitForExit();
    return program;
  }
};

TEST_F(InventoryTest, ARunGoesOverTheHostsThatItNames) {
  for (int i = 0; i < 2; ++i) StartAgent();
  folder_.Write("hosts", "left " + listening_[0] + "\nwrong\nright " + listening_[1] + " arch=x\n");
  const auto run = Run(List(200), {"--inventory", folder_.File("hosts")});
  EXPECT_EQ(exit_, 0) << run->error();
  EXPECT_THAT(run->error(), AllOf(HasSubstr("hosts:2: 'wrong' has no address behind it"),
                                  HasSubstr("1 line was skipped, 2 hosts are used")));
  EXPECT_THAT(folder_.Read(Latest("run.json")),
              AllOf(HasSubstr(R"("name":"left")"), HasSubstr(R"("name":"right")")));
  EXPECT_EQ(Ask("SELECT count(DISTINCT agent) FROM record"), "2");
  ExpectBalanced();
}

TEST_F(InventoryTest, ARunWithoutAUsableOneDoesNotStart) {
  folder_.Write("hosts", "# nobody yet\n");
  const auto run = Run(List(1), {"--inventory", folder_.File("hosts")});
  EXPECT_EQ(exit_, 2);
  EXPECT_THAT(run->error(), HasSubstr("names no host"));
  const auto gone = Run(List(1), {"--inventory", folder_.File("none")});
  EXPECT_EQ(exit_, 2);
  EXPECT_THAT(gone->error(), HasSubstr("cannot be read"));
}

TEST_F(InventoryTest, AgentsAreShownByName) {
  StartAgent();
  folder_.Write("hosts", "here " + listening_[0] + "\ngone 127.0.0.1:1\n");
  const auto lines = Coordinator({"agents", "--inventory", folder_.File("hosts")});
  EXPECT_EQ(exit_, 3) << "one is not reachable";
  EXPECT_THAT(lines->output(), AllOf(HasSubstr("here at 127.0.0.1:"), HasSubstr("free"),
                                     HasSubstr("gone at 127.0.0.1:1: not reachable: ")));
  const auto json =
      Coordinator({"agents", "--inventory", folder_.File("hosts"), "--format", "json"});
  boost::system::error_code error;
  const auto agents = boost::json::parse(json->output(), error);
  ASSERT_FALSE(error) << json->output();
  EXPECT_TRUE(agents.at(0).at("reachable").as_bool());
  EXPECT_GE(agents.at(0).at("load").to_number<double>(), 0);
  // One clock, so what is told of it is the error of telling.
  EXPECT_LE(std::abs(agents.at(0).at("clock_offset_us").to_number<int64_t>()),
            agents.at(0).at("round_trip_us").to_number<int64_t>());
  const auto cancel = Coordinator({"cancel", "--inventory", folder_.File("hosts")});
  EXPECT_EQ(exit_, 3);
  EXPECT_THAT(cancel->output(), HasSubstr("here: free already"));
}

TEST_F(InventoryTest, ARunWithAnAgentOfAnotherVersionDoesNotStart) {
  StartAgent();
  FakeAgent other({});
  folder_.Write("hosts", "same " + listening_[0] + "\nother " + other.address() + "\n");
  const auto run = Run(List(5), {"--inventory", folder_.File("hosts")});
  EXPECT_EQ(exit_, 2) << run->error();
  EXPECT_THAT(run->error(), AllOf(HasSubstr("agent other runs fetchbench fake"),
                                  HasSubstr("`bin/provision --upgrade other`")));
  EXPECT_THAT(other.starts(), IsEmpty());
  const auto agents = Coordinator({"agents", "--inventory", folder_.File("hosts")});
  EXPECT_EQ(exit_, 2);
  EXPECT_THAT(agents->output(), HasSubstr("fetchbench fake"));
  EXPECT_THAT(agents->error(), HasSubstr("bin/provision --upgrade other"));
  EXPECT_THAT(agents->error(), Not(HasSubstr("agent same")));
}

}  // namespace
}  // namespace fetchbench::test
