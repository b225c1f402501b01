// What containers and builds reach, with a real Docker Engine and the real rules of
// deploy/guard/fetchbench-guard, under names that are this test's own. They are only let loose on
// this host's own addresses, where the test itself listens: so rules that fail reach nothing else.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/agent/container/container_fixture.h"

namespace fetchbench::agent {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Accepts connections on every address of the host: the kernel completes them.
class Listener {
 public:
  Listener() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    socklen_t size = sizeof name;
    if (bind(fd_, reinterpret_cast<sockaddr*>(&name), size) != 0 || listen(fd_, SOMAXCONN) != 0 ||
        getsockname(fd_, reinterpret_cast<sockaddr*>(&name), &size) != 0) {
      std::abort();
    }
    port_ = ntohs(name.sin_port);
  }
  ~Listener() { close(fd_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  int port() const { return port_; }

 private:
  int fd_;
  int port_ = 0;
};

class ContainerGuardTest : public ContainerTest {
 protected:
  void SetUp() override {
    config_.guard_state = folder_ + "/guard/state";
    config_.build.limits.memory_bytes = kMemory;
    config_.build.limits.cpuset = "0";
    config_.build.limits.cpu_permille = 500;
    ContainerTest::SetUp();
  }
  void TearDown() override {
    if (applied_) Guard("remove");
    server_.reset();  // takes its network away
  }

  // This process's own: rules of another test hold for its own bridges alone.
  static std::string Bridges() {
    std::string letters = "fbt";
    for (int rest = getpid(), i = 0; i < 5; ++i, rest /= 26) {
      letters += static_cast<char>('a' + rest % 26);
    }
    return letters;
  }

  bool Guard(const std::string& command, const std::string& origins = "") const {
    const std::string line = fmt::format(
        "FETCHBENCH_GUARD_BRIDGES={} FETCHBENCH_GUARD_TABLE=fetchbench_guard_test_{} "
        "FETCHBENCH_GUARD_STATE={} FETCHBENCH_GUARD_ORIGINS='{}' "
        "{}/deploy/guard/fetchbench-guard {}",
        Bridges(), getpid(), config_.guard_state, origins, FETCHBENCH_SOURCE, command);
    return std::system(line.c_str()) == 0;  // NOLINT(cert-env33-c): a text of ours
  }
  static bool CanSetRules() {
    return geteuid() == 0 && std::system("nft --version >/dev/null") == 0;
  }
  void ApplyGuard(const std::string& origins = "") {
    applied_ = true;
    ASSERT_TRUE(Guard("apply", origins));
  }
  void WriteState(const std::string& text) const {
    std::filesystem::create_directories(folder_ + "/guard");
    std::ofstream(config_.guard_state) << text;
    std::filesystem::permissions(config_.guard_state, static_cast<std::filesystem::perms>(0644));
  }

  std::string DialScript() const { return fmt::format("dial={}", listener_.port()); }
  // A start of a target that says whether it reaches its gateway.
  v1::Start PublicStart() {
    v1::Start start = ContainerStart(DialScript());
    start.mutable_options()->set_deny_private_addresses(true);
    start.mutable_container()->set_network_mode("bridge");
    return start;
  }
  // A build whose RUN step runs the target by `script`.
  Prepared Build(const std::string& script) {
    return PrepareTarget(test::TargetContext(
        fmt::format("FROM scratch\nCOPY target /target\nENV USER_AGENT=\"{} try={}\"\n"
                    "RUN [\"/target\"]\nENTRYPOINT [\"/target\"]\n",
                    script, listener_.port())));
  }

  static constexpr uint64_t kMemory = (100 << 20) + 7 * 4096;  // as nobody else has it
  const Listener listener_;
  bool applied_ = false;
};

TEST_F(ContainerGuardTest, WithoutRulesNoContainerStartsThatMustNotReachPrivateAddresses) {
  const test::RunResult result = Run(PublicStart(), test::MakeUrls(1));
  EXPECT_EQ(result.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(result.status.error_message(),
              AllOf(HasSubstr("fetchbench-guard"), HasSubstr("apply")));
  ExpectNothingLeft();
}

TEST_F(ContainerGuardTest, ANoteThatIsNotTrueIsFoundOut) {
  if (geteuid() != 0) GTEST_SKIP() << "only root's note is looked at";
  // Before the note: what has to be built would be refused for it too.
  const v1::Start start = PublicStart();
  WriteState("version=2\npool=10.213.0.0/16\nbridges=fbn\n");
  const test::RunResult result = Run(start, test::MakeUrls(1));
  EXPECT_EQ(result.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION)
      << result.status.error_message();
  EXPECT_THAT(result.status.error_message(), HasSubstr("probe"));
  ExpectNothingLeft();
}

TEST_F(ContainerGuardTest, AContainerDoesNotReachItsHost) {
  if (!CanSetRules()) GTEST_SKIP() << "needs root and nft";
  v1::Start start = PublicStart();
  start.mutable_options()->set_deny_private_addresses(false);
  test::RunResult result = Run(start, test::MakeUrls(1));
  ASSERT_TRUE(result.finished) << result.status.error_message();
  EXPECT_THAT(result.finished->target_stderr(), HasSubstr("gateway open"));
  ApplyGuard();
  start.mutable_options()->set_deny_private_addresses(true);
  start.set_run_id("guarded");
  result = Run(start, test::MakeUrls(1));
  ASSERT_TRUE(result.finished) << result.status.error_message();
  EXPECT_THAT(result.finished->target_stderr(), HasSubstr("gateway refused"));
  // The rules go, as by somebody's `nft flush ruleset`; the note stays.
  ASSERT_TRUE(std::system(fmt::format("nft delete table inet fetchbench_guard_test_{}", getpid())
                              .c_str()) == 0);  // NOLINT(cert-env33-c): a text of ours
  start.set_run_id("flushed");
  result = Run(start, test::MakeUrls(1));
  EXPECT_EQ(result.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  ExpectNothingLeft();
}

// The gateway is none of the origins, so the container must not reach it.
TEST_F(ContainerGuardTest, OnASimulatedWebElsewhereAContainerReachesNothingElse) {
  if (!CanSetRules()) GTEST_SKIP() << "needs root and nft";
  v1::Start start = PublicStart();
  start.mutable_options()->set_deny_private_addresses(false);
  start.mutable_options()->set_origin("192.0.2.9");
  test::RunResult result = Run(start, test::MakeUrls(1));
  ASSERT_TRUE(result.finished) << result.status.error_message();
  EXPECT_THAT(result.finished->target_stderr(), HasSubstr("gateway open"));  // a host without rules
  ApplyGuard("192.0.2.9");
  start.set_run_id("guarded");
  result = Run(start, test::MakeUrls(1));
  ASSERT_TRUE(result.finished) << result.status.error_message();
  EXPECT_THAT(result.finished->target_stderr(), HasSubstr("gateway refused"));
}

TEST_F(ContainerGuardTest, ASimulatedWebThatTheRulesDoNotNameIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root's note is looked at";
  v1::Start start = PublicStart();
  WriteState("version=2\npool=10.213.0.0/16\nbridges=fbn\norigins=192.0.2.9\n");
  start.mutable_options()->set_deny_private_addresses(false);
  start.mutable_options()->set_origin("192.0.2.99");
  const test::RunResult result = Run(start, test::MakeUrls(1));
  EXPECT_EQ(result.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(result.status.error_message(),
              AllOf(HasSubstr("192.0.2.99"), HasSubstr("FETCHBENCH_GUARD_ORIGINS")));
  ExpectNothingLeft();
}

TEST_F(ContainerGuardTest, OtherNetworksCannotBeAskedForInstead) {
  v1::Start start = PublicStart();
  start.mutable_container()->set_network_mode("container:" + std::string(64, 'a'));
  EXPECT_EQ(Run(start, {}).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ContainerGuardTest, ABuildDoesNotReachItsHost) {
  if (!CanSetRules()) GTEST_SKIP() << "needs root and nft";
  const Prepared open = Build(DialScript());
  ASSERT_TRUE(open.status.ok()) << open.status.error_message();
  EXPECT_THAT(open.messages, Contains(HasSubstr("gateway open")));
  ApplyGuard();
  const Prepared guarded = Build(DialScript() + " again");
  ASSERT_TRUE(guarded.status.ok()) << guarded.status.error_message();
  EXPECT_THAT(guarded.messages, Contains(HasSubstr("gateway refused")));
  EXPECT_THAT(guarded.messages, Not(Contains(HasSubstr("gateway open"))));
}

TEST_F(ContainerGuardTest, NothingIsBuiltWithRulesThatShouldBeThereAndAreNot) {
  if (geteuid() != 0) GTEST_SKIP() << "only root's note is looked at";
  WriteState("version=2\npool=10.213.0.0/16\nbridges=fbn\n");
  const Prepared prepared = Build("refused");
  EXPECT_EQ(prepared.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(prepared.status.error_message(), HasSubstr("fetchbench-guard"));
}

TEST_F(ContainerGuardTest, ABuildThatTakesTooMuchMemoryFails) {
  const Prepared prepared = Build("eat=300");
  EXPECT_EQ(prepared.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(prepared.status.error_message(), HasSubstr("137"));
}

class BuildTimeTest : public ContainerGuardTest {
 protected:
  void SetUp() override {
    config_.build.time = std::chrono::seconds(20);
    ContainerGuardTest::SetUp();
  }
  // The container of the build's step, while it runs.
  std::optional<boost::json::object> StepOfTheBuild() {
    const auto list = Get(client_.ListContainers({}));
    for (const docker::ContainerSummary& container : list.ok() ? *list : NoContainers()) {
      const auto info = Get(client_.InspectContainer(container.id));
      if (!info.ok() || !info->running) continue;
      const auto host = docker::ObjectAt(info->raw, "HostConfig");
      if (host && docker::NumberAt(*host, "Memory") == static_cast<int64_t>(kMemory)) return *host;
    }
    return std::nullopt;
  }
  static std::vector<docker::ContainerSummary> NoContainers() { return {}; }
};

TEST_F(BuildTimeTest, ABuildHasItsLimitsAndEndsAtItsDeadline) {
  Prepared prepared;
  std::thread building([&] { prepared = Build("stay"); });
  std::optional<boost::json::object> step;
  for (int i = 0; i < 400 && !step; ++i) {
    step = StepOfTheBuild();
    if (!step) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  building.join();
  EXPECT_EQ(prepared.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED)
      << prepared.status.error_message();
  ASSERT_TRUE(step);
  EXPECT_EQ(docker::NumberAt(*step, "MemorySwap"), static_cast<int64_t>(kMemory));
  EXPECT_EQ(docker::StringAt(*step, "CpusetCpus"), "0");
  EXPECT_EQ(docker::NumberAt(*step, "CpuQuota") * 2, docker::NumberAt(*step, "CpuPeriod"));
  for (int i = 0; i < 500 && StepOfTheBuild(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_FALSE(StepOfTheBuild());
}

}  // namespace
}  // namespace fetchbench::agent
