// Runs over agents that demand mutual TLS: certificates by bin/pki, real programs.

#include <signal.h>

#include <filesystem>

#include "tests/integration/run_fixture.h"

namespace fetchbench::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class MtlsRunTest : public RunFixture {
 protected:
  std::string Config() const { return folder_.File("config/fetchbench"); }
  std::string Pki(const std::string& path) const { return Config() + "/pki/" + path; }

  void MakeFleet() {
    CallPki({"init", "lab", "ada"});
    CallPki({"host", "h1", "h2"});
  }

  void CallPki(const std::vector<std::string>& words) const {
    std::vector<std::string> command{FETCHBENCH_SOURCE "/bin/pki"};
    command.insert(command.end(), words.begin(), words.end());
    Program pki(command, Environment());
    ASSERT_EQ(pki.WaitForExit(), 0) << pki.error();
  }

  std::map<std::string, std::string> Environment() const {
    return {{"XDG_CONFIG_HOME", folder_.File("config")}, {"FETCHBENCH_PKI", ""}};
  }

  // NAME=ADDRESS of an agent that has the credentials of `host`.
  std::string StartAgent(const std::string& host, const std::string& address) {
    agents_.push_back(std::make_unique<Program>(
        std::vector<std::string>{Bin("fetchbench-agent"), "--listen", address + ":0",
                                 "--credentials", Pki("hosts/" + host)}));
    Program& agent = *agents_.back();
    EXPECT_TRUE(agent.WaitForOutput("}\n")) << agent.error();
    boost::system::error_code error;
    const auto ready = boost::json::parse(agent.output(), error);
    return host + "=" + std::string(ready.at("listen").as_string());
  }

  std::unique_ptr<Program> Coordinate(const std::vector<std::string>& words) const {
    std::vector<std::string> command{Bin("fetchbench-coordinator")};
    command.insert(command.end(), words.begin(), words.end());
    auto program = std::make_unique<Program>(command, Environment());
    program->CloseInput();
    exit_ = program->WaitForExit();
    return program;
  }

  std::vector<std::unique_ptr<Program>> agents_;
};

TEST_F(MtlsRunTest, TwoAgentsShareOneListAndEachUrlIsRecordedOnce) {
  MakeFleet();
  const std::string agents = StartAgent("h1", "127.0.0.2") + "," + StartAgent("h2", "127.0.0.3");
  const auto run =
      Run(List(2000), {"--agents", agents, "--credentials", Config() + "/credentials"});
  EXPECT_EQ(exit_, 0) << run->error();
  EXPECT_EQ(Ask("SELECT count(*) FROM record"), "2000");
  EXPECT_EQ(Ask("SELECT count(DISTINCT agent) FROM record"), "2");
  ExpectBalanced();
}

TEST_F(MtlsRunTest, AKilledRunIsResumedWithItsCredentials) {
  MakeFleet();
  const std::string agents = StartAgent("h1", "127.0.0.2") + "," + StartAgent("h2", "127.0.0.3");
  Program run(
      Command({"--agents", agents, "--credentials", Config() + "/credentials", "--format", "plain"},
              "sim:published"));
  run.Write(List(300));
  run.CloseInput();
  ASSERT_TRUE(run.WaitForOutput("\n")) << run.error();
  run.Signal(SIGKILL);
  run.WaitForExit();
  const auto resumed = Coordinate({"resume", "--out", Out(), "--progress", "plain"});
  EXPECT_EQ(exit_, 0) << resumed->error();
  EXPECT_EQ(Ask("SELECT count(*) FROM record"), "300");
  ExpectBalanced();
}

TEST_F(MtlsRunTest, AgentsAreAskedAndSaidNoToByName) {
  MakeFleet();
  const std::string h1 = StartAgent("h1", "127.0.0.2");
  const auto good =
      Coordinate({"agents", "--agents", h1, "--credentials", Config() + "/credentials"});
  EXPECT_EQ(exit_, 0) << good->output() << good->error();
  EXPECT_THAT(good->output(), ContainsRegex("h1 at 127[.0-9]*:[0-9]*: free"));
  const std::string address = h1.substr(h1.find('=') + 1);
  const auto wrong = Coordinate(
      {"agents", "--agents", "h2=" + address, "--credentials", Config() + "/credentials"});
  EXPECT_EQ(exit_, 3);
  EXPECT_THAT(wrong->output(), HasSubstr("that of host h1, not of h2"));
  const auto plain = Coordinate({"agents", "--agents", h1});
  EXPECT_EQ(exit_, 3) << "on loopback, without credentials";
  EXPECT_THAT(plain->output(), AllOf(ContainsRegex("h1 at 127[.0-9]*:[0-9]*: not reachable"),
                                     HasSubstr("--credentials")));
}

TEST_F(MtlsRunTest, ADeniedOperatorIsRefusedAndTheAgentSaysSo) {
  MakeFleet();
  CallPki({"operator", "bob"});
  const std::string h1 = StartAgent("h1", "127.0.0.2");
  CallPki({"deny", "bob"});
  // Bob has no list that names him.
  std::filesystem::remove(Pki("operators/bob/denied"));
  const auto refused =
      Coordinate({"agents", "--agents", h1, "--credentials", Pki("operators/bob")});
  EXPECT_EQ(exit_, 3);
  EXPECT_THAT(refused->output(), HasSubstr("refused"));
  EXPECT_TRUE(agents_[0]->WaitForError("the certificate of operator bob, serial number"));
  const auto good =
      Coordinate({"agents", "--agents", h1, "--credentials", Config() + "/credentials"});
  EXPECT_EQ(exit_, 0) << good->output() << good->error();
}

TEST_F(MtlsRunTest, AHostThatWasDeniedIsLeftOutAndItsReasonIsInPlainWords) {
  MakeFleet();
  const std::string agents = StartAgent("h1", "127.0.0.2") + "," + StartAgent("h2", "127.0.0.3");
  CallPki({"deny", "h2"});
  const auto run = Run(List(50), {"--agents", agents, "--credentials", Config() + "/credentials",
                                  "--connect-timeout", "1"});
  EXPECT_EQ(exit_, 0) << run->error();
  EXPECT_TRUE(Summary().at("degraded").as_bool());
  EXPECT_THAT(run->output(), HasSubstr("h2 lost (the certificate of host h2"));
  EXPECT_THAT(run->error() + run->output(), Not(HasSubstr("Custom verification")));
}

// gRPC would warn of each connection that asks for another name than the certificate's.
TEST_F(MtlsRunTest, AnAgentHasNothingToSayOfACallThatIsInOrder) {
  MakeFleet();
  const std::string h1 = StartAgent("h1", "127.0.0.2");
  const auto good =
      Coordinate({"agents", "--agents", h1, "--credentials", Config() + "/credentials"});
  EXPECT_EQ(exit_, 0) << good->output() << good->error();
  agents_[0]->Signal(SIGTERM);
  agents_[0]->WaitForExit();
  EXPECT_THAT(agents_[0]->error(), Not(HasSubstr("warning")));
}

TEST_F(MtlsRunTest, AnotherHostWithoutCredentialsIsWrongUsage) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"agents", "--agents", "192.0.2.1"},
           {"cancel", "--agents", "192.0.2.1"},
           {"run", "native", "--agents", "192.0.2.1", "--origin", "192.0.2.2:8000"},
           {"bench", "native", "--agents", "192.0.2.1", "--origin", "192.0.2.2:8000"}}) {
    const auto program = Coordinate(words);
    EXPECT_EQ(exit_, 2) << words[0];
    EXPECT_THAT(program->error(), HasSubstr("bin/pki init FLEET")) << words[0];
  }
}

TEST_F(MtlsRunTest, AnAgentOnAnotherAddressWithoutCredentialsDoesNotStart) {
  if (std::filesystem::exists("/etc/fetchbench/tls")) GTEST_SKIP() << "this host has credentials";
  Program agent(std::vector<std::string>{Bin("fetchbench-agent"), "--listen", "0.0.0.0:0"});
  EXPECT_EQ(agent.WaitForExit(), 2);
  EXPECT_THAT(agent.error(), AllOf(HasSubstr("bin/pki host NAME"), HasSubstr("--credentials DIR")));
  EXPECT_EQ(agent.output(), "");
}

}  // namespace
}  // namespace fetchbench::test
