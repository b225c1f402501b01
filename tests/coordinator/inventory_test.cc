#include "coordinator/fleet/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "coordinator/fleet/use_inventory.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::coordinator {
namespace {

using fetchbench::test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

Inventory Parse(std::string_view text) { return ParseInventory(text, "hosts"); }

std::vector<std::string> Shown(const std::vector<AgentEndpoint>& endpoints) {
  std::vector<std::string> texts;
  for (const AgentEndpoint& endpoint : endpoints) texts.push_back(EndpointText(endpoint));
  return texts;
}

TEST(InventoryTest, ALineIsANameAnAddressAndWhatBelongsToIt) {
  const Inventory inventory = Parse(
      "# the fleet\n"
      "\n"
      "web-1 10.0.0.1 ssh=admin@10.0.0.1:2222 arch=arm64\r\n"
      "  web.2\t[2001:db8::1]:9   # a comment\n"
      "local unix:/run/agent");
  EXPECT_THAT(inventory.problems, IsEmpty());
  EXPECT_EQ(inventory.skipped, 0u);
  EXPECT_THAT(Shown(inventory.Endpoints()),
              ElementsAre("web-1=10.0.0.1:7311", "web.2=[2001:db8::1]:9", "local=unix:/run/agent"));
  EXPECT_THAT(inventory.hosts[0].values,
              ElementsAre(Pair("arch", "arm64"), Pair("ssh", "admin@10.0.0.1:2222")));
  EXPECT_EQ(inventory.hosts[1].line, 4u);
}

TEST(InventoryTest, AHostMayBeCalledByItsIpv6Address) {
  const Inventory inventory = Parse("fd00::5 [fd00::5]:7311 ssh=root@[fd00::5] arch=amd64\n");
  EXPECT_THAT(inventory.problems, IsEmpty());
  EXPECT_THAT(Shown(inventory.Endpoints()), ElementsAre("fd00::5=[fd00::5]:7311"));
  std::vector<AgentEndpoint> agents;
  ASSERT_TRUE(AddAgents("fd00::5=[fd00::5]:7311", agents).ok());
  EXPECT_EQ(agents.front().name, "fd00::5");
}

TEST(InventoryTest, BadLinesAreLocatedCountedAndSkipped) {
  const Inventory inventory = Parse(
      "good 10.0.0.1\n"
      "alone\n"
      "port 10.0.0.2:99999\n"
      "w/rong 10.0.0.3\n"
      "x=y 10.0.0.4\n"
      "words 10.0.0.5 fast\n"
      "twice 10.0.0.6 a=1 a=2\n"
      "unix:/a 10.0.0.7\n");
  EXPECT_THAT(Shown(inventory.Endpoints()), ElementsAre("good=10.0.0.1:7311"));
  EXPECT_EQ(inventory.skipped, 7u);
  EXPECT_THAT(
      inventory.problems,
      ElementsAre(HasSubstr("hosts:2: 'alone' has no address"),
                  HasSubstr("hosts:3: '10.0.0.2:99999' is not an address"), HasSubstr("hosts:4: "),
                  HasSubstr("hosts:5: "), HasSubstr("hosts:6: 'fast' is not key=value"),
                  HasSubstr("hosts:7: a is there twice"), HasSubstr("hosts:8: ")));
}

TEST(InventoryTest, NamesAndLinesBeyondReasonAreSkippedInAShortSentence) {
  const std::string name(254, 'n');
  const std::string line(size_t{5} << 20, 'l');
  const Inventory inventory =
      Parse(name + " 10.0.0.1\na " + name + ":1\n" + line + " 10.0.0.3\ngood 10.0.0.4\n");
  EXPECT_THAT(Shown(inventory.Endpoints()), ElementsAre("good=10.0.0.4:7311"));
  EXPECT_THAT(inventory.problems,
              ElementsAre(HasSubstr("253 at most"), HasSubstr("is not an address"),
                          HasSubstr("hosts:3: a line of 5242889 bytes; at most 4096")));
}

TEST(InventoryTest, AHostThatIsThereTwiceIsTakenOnce) {
  const Inventory inventory = Parse("a 10.0.0.1\na 10.0.0.2\nb 10.0.0.1:7311\n");
  EXPECT_THAT(Shown(inventory.Endpoints()), ElementsAre("a=10.0.0.1:7311"));
  EXPECT_THAT(inventory.problems, ElementsAre(HasSubstr("hosts:2: a is in line 1"),
                                              HasSubstr("hosts:3: 10.0.0.1:7311 is in line 1")));
}

TEST(InventoryTest, NamesTheFirstProblemsAndCountsAll) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "bad\n";
  const Inventory inventory = Parse(text);
  EXPECT_EQ(inventory.skipped, 1000u);
  EXPECT_THAT(inventory.problems, SizeIs(kMaxInventoryProblems));
}

class InventoryFileTest : public ::testing::Test {
 protected:
  Environment Env() {
    return [this](std::string_view name) -> std::optional<std::string> {
      const auto it = variables_.find(std::string(name));
      return it == variables_.end() ? std::nullopt : std::optional(it->second);
    };
  }
  absl::Status Use(Options& options) {
    return UseInventory(options, Env(),
                        [this](const std::string& line) { reported_.push_back(line); });
  }

  TempFolder folder_;
  std::map<std::string, std::string> variables_;
  std::vector<std::string> reported_;
};

TEST_F(InventoryFileTest, OneWithoutAHostIsAnError) {
  folder_.Write("empty", "# nobody\n");
  const auto empty = ReadInventory(folder_.File("empty"));
  EXPECT_TRUE(absl::IsInvalidArgument(empty.status()));
  EXPECT_THAT(std::string(empty.status().message()), HasSubstr("names no host: it is empty"));
  folder_.Write("bad", "x\ny\n");
  EXPECT_THAT(std::string(ReadInventory(folder_.File("bad")).status().message()),
              HasSubstr("2 lines are wrong, the first: "));
  EXPECT_TRUE(absl::IsNotFound(ReadInventory(folder_.File("none")).status()));
  EXPECT_FALSE(ReadInventory(folder_.File("")).ok()) << "a folder";
}

TEST_F(InventoryFileTest, ARunTakesItsAgentsFromTheOneThatIsNamed) {
  folder_.Write("hosts", "a 127.0.0.1:1\nb\n");
  Options options;
  options.command = Command::kRun;
  ASSERT_TRUE(Use(options).ok());
  EXPECT_THAT(options.run.agents, IsEmpty()) << "it starts one here";
  options.inventory = folder_.File("hosts");
  const absl::Status used = Use(options);
  ASSERT_TRUE(used.ok()) << used;
  EXPECT_THAT(Shown(options.run.agents), ElementsAre("a=127.0.0.1:1"));
  EXPECT_THAT(reported_, ElementsAre(HasSubstr("hosts:2:"), HasSubstr("1 line was skipped")));
}

TEST_F(InventoryFileTest, HostsElsewhereNeedAnOriginAsOtherAgentsDo) {
  folder_.Write("hosts", "a 10.0.0.1\n");
  Options options;
  options.command = Command::kRun;
  options.inventory = folder_.File("hosts");
  EXPECT_THAT(std::string(Use(options).message()), HasSubstr("--origin"));
}

TEST_F(InventoryFileTest, AgentsAndCancelUseTheDefaultOneUnlessTheyAreTold) {
  std::filesystem::create_directories(folder_.File("config/fetchbench"));
  Options options;
  options.command = Command::kAgents;
  variables_["XDG_CONFIG_HOME"] = folder_.File("config");
  ASSERT_TRUE(Use(options).ok());
  EXPECT_THAT(Shown(options.agents), ElementsAre("127.0.0.1:7311")) << "there is none yet";

  folder_.Write("config/fetchbench/inventory", "a 10.0.0.1\n");
  Options asked;
  asked.command = Command::kCancel;
  ASSERT_TRUE(Use(asked).ok());
  EXPECT_THAT(Shown(asked.agents), ElementsAre("a=10.0.0.1:7311"));

  Options named;
  named.command = Command::kAgents;
  named.agents = {{.address = "10.0.0.9:1", .name = ""}};
  ASSERT_TRUE(Use(named).ok());
  EXPECT_THAT(Shown(named.agents), ElementsAre("10.0.0.9:1"));

  Options by_word;
  by_word.command = Command::kRun;
  by_word.run.web = Web::kInternet;
  by_word.inventory = "default";
  ASSERT_TRUE(Use(by_word).ok());
  EXPECT_THAT(Shown(by_word.run.agents), ElementsAre("a=10.0.0.1:7311"));
}

TEST_F(InventoryFileTest, ADefaultThatIsNotThereIsSaid) {
  Options options;
  options.command = Command::kRun;
  options.inventory = "default";
  variables_["HOME"] = folder_.File("home");
  const absl::Status status = Use(options);
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("./deploy/inventory nor "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("home/.config/fetchbench/inventory"));
}

}  // namespace
}  // namespace fetchbench::coordinator
