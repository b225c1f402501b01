#include "agent/process/child_process.h"
#include "agent/process/target_pipes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "agent/native_command.h"
#include "agent/process/cpu_list.h"
#include "agent/target_facts.h"
#include "common/io_thread.h"
#include "tests/support/run_task.h"

namespace fetchbench::agent {
namespace {

using test::RunOn;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ScriptedTarget() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() /
         "fetchbench-scripted-target";
}

class Sink final : public TargetSink {
 public:
  explicit Sink(const net::any_io_executor& loop) : ended(loop) {}
  void OnOutput(std::string_view bytes) override { output += bytes; }
  void OnWritable() override { ++writable; }
  void OnExit(const TargetExit& e) override {
    exit = e;
    ended.Notify();
  }
  std::string output;
  int writable = 0;
  std::optional<TargetExit> exit;
  Wakeup ended;
};

enum class After { kNothing, kTerminate, kKill };

struct Plan {
  TargetCommand command;
  std::string input;
  After after = After::kNothing;
  bool close_input = true;
};

struct Outcome {
  absl::Status started;
  std::string output;
  TargetExit exit;
  TargetUsage live;
};

Task<Outcome> RunChild(net::any_io_executor loop, Plan plan) {
  Sink sink(loop);
  ChildProcess child(loop, {});
  Outcome outcome;
  outcome.started = co_await child.Start(plan.command, sink);
  if (!outcome.started.ok()) co_return outcome;
  if (!plan.input.empty()) child.Feed(plan.input);
  if (plan.close_input) child.CloseInput();
  if (plan.after != After::kNothing) {
    net::steady_timer timer(loop, std::chrono::milliseconds(200));
    co_await timer.async_wait(kAsTuple);
    outcome.live = child.Usage();
    if (plan.after == After::kTerminate) child.Terminate();
    if (plan.after == After::kKill) child.Kill();
  }
  while (!sink.exit) co_await sink.ended.WaitUntil();
  outcome.output = sink.output;
  outcome.exit = *sink.exit;
  co_return outcome;
}

class ChildProcessTest : public ::testing::Test {
 protected:
  Plan Scripted(const std::string& script, const std::string& input = "") {
    Plan plan;
    v1::FetchOptions options;
    options.set_concurrency(1);
    options.set_timeout_ms(1000);
    options.set_user_agent(script);
    plan.command = NativeCommand(ScriptedTarget(), options);
    plan.input = input;
    return plan;
  }
  Plan Shell(const std::string& text, const std::string& input = "") {
    Plan plan;
    plan.command.argv = {"/bin/sh", "-c", text};
    plan.command.environ = TargetEnvironment();
    plan.input = input;
    return plan;
  }
  Outcome Run(Plan plan) {
    signal(SIGPIPE, SIG_IGN);
    auto result = RunOn(loop_, RunChild(loop_.executor(), std::move(plan)));
    EXPECT_TRUE(test::IsReady(result));
    return result.get();
  }

  IoThread loop_{"test-loop"};
};

TEST_F(ChildProcessTest, PassesInputAndOutputAndExitCode) {
  const Outcome o = Run(Shell("cat; echo words >&2; exit 7", "hello\n"));
  EXPECT_EQ(o.output, "hello\n");
  EXPECT_EQ(o.exit.code, 7);
  EXPECT_EQ(o.exit.stderr_tail, "words\n");
}

TEST_F(ChildProcessTest, MegabytesPassBothWaysWithoutBlockingTheLoop) {
  const std::string input(8 << 20, 'x');
  EXPECT_EQ(Run(Shell("cat", input)).output.size(), input.size());
}

TEST_F(ChildProcessTest, ProgramThatIsNotThereIsAnError) {
  Plan plan = Shell("");
  plan.command.argv[0] = "/no/such/program";
  const absl::Status s = Run(plan).started;
  EXPECT_EQ(s.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(s.message()), HasSubstr("/no/such/program"));
  plan.command.argv[0] = "/etc/passwd";
  EXPECT_EQ(Run(plan).started.code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(ChildProcessTest, SignalsEndIt) {
  Plan plan = Shell("sleep 100");
  plan.after = After::kTerminate;
  EXPECT_EQ(Run(plan).exit.code, -SIGTERM);
  plan = Scripted("ignore-term deaf");
  plan.after = After::kKill;
  EXPECT_EQ(Run(plan).exit.code, -SIGKILL);
}

TEST_F(ChildProcessTest, IgnoredSignalsOfTheDaemonAreDefaultInTheChild) {
  EXPECT_EQ(Run(Shell("kill -PIPE $$; sleep 1; exit 5")).exit.code, -SIGPIPE);
}

TEST_F(ChildProcessTest, ChildThatReadsNothingAndEndsIsNoTrouble) {
  EXPECT_EQ(Run(Shell("exit 3", std::string(1 << 20, 'x'))).exit.code, 3);
}

TEST_F(ChildProcessTest, DescendantThatHoldsThePipesIsKilledToo) {
  const auto begin = std::chrono::steady_clock::now();
  const Outcome o = Run(Shell("sleep 1000 & echo $!"));
  EXPECT_EQ(o.exit.code, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  const std::string stat = fmt::format("/proc/{}/stat", std::stoi(o.output));
  const auto is_alive = [&stat] {
    std::ifstream in(stat);
    std::string pid;
    std::string name;
    std::string state;
    in >> pid >> name >> state;
    return in.good() && state != "Z";  // whoever inherited it may not have reaped it yet
  };
  for (int i = 0; i < 500 && is_alive(); ++i) usleep(20'000);
  EXPECT_FALSE(is_alive());
}

TEST_F(ChildProcessTest, InheritsOnlyItsPipesAndTheCaFile) {
  EXPECT_EQ(Run(Shell("ls /proc/self/fd | tr '\\n' ' '")).output, "0 1 2 3 ") << "3 is ls's own";
  Plan plan = Scripted("tell");
  plan.command.ca_pem = std::string(100'000, 'P');
  plan.command.argv.insert(plan.command.argv.end(), {"--ca-file", std::string(kCaFilePath)});
  plan.command.ca_pem = "CERTIFICATE";
  EXPECT_THAT(Run(plan).exit.stderr_tail, HasSubstr("ca CERTIFICATE\n"));
}

TEST_F(ChildProcessTest, RunsPinnedInAGroupOfItsOwnWithoutOptionVariables) {
  setenv("CONCURRENCY", "77", 1);
  Plan plan = Scripted("tell");
  unsetenv("CONCURRENCY");
  plan.command.cpus = {AllowedCpus().front()};
  EXPECT_THAT(Run(plan).exit.stderr_tail,
              AllOf(HasSubstr("cpus 1\n"), HasSubstr("group own\n"), HasSubstr("env none\n")));
}

TEST_F(ChildProcessTest, PinningToACpuThatIsNotThereIsAnError) {
  Plan plan = Scripted("");
  plan.command.cpus = {1000};
  EXPECT_EQ(Run(plan).started.code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ChildProcessTest, UsageIsTheChildsOwnAndNotItsParentsSize) {
  const std::string ballast(200 << 20, 'b');  // this process is large when it forks
  EXPECT_EQ(ballast[100 << 20], 'b');
  Plan plan = Shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 100");
  plan.after = After::kKill;
  const Outcome o = Run(plan);
  EXPECT_GT(o.live.rss_bytes, 0);
  EXPECT_EQ(o.live.open_files, 3);
  EXPECT_GT(o.exit.usage.user_us + o.exit.usage.system_us, 0);
  EXPECT_GT(o.exit.usage.peak_rss_bytes, 0);
  EXPECT_LT(o.exit.usage.peak_rss_bytes, 100U << 20);
  EXPECT_EQ(o.exit.usage.rss_bytes, 0);
}

TEST_F(ChildProcessTest, PeakMemoryIsKnownOfAShortRunThatNobodyAskedAbout) {
  const Outcome o = Run(Shell("echo first; sleep 0.2"));
  EXPECT_GT(o.exit.usage.peak_rss_bytes, 0);
}

TEST_F(ChildProcessTest, StderrIsBounded) {
  const Outcome o = Run(Shell("i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i+1)); done"));
  EXPECT_LE(o.exit.stderr_tail.size(), kStderrTailBytes);
  EXPECT_THAT(o.exit.stderr_tail, AllOf(HasSubstr("line 2999\n"), Not(HasSubstr("line 1\n"))));
}

Task<pid_t> StartAndDrop(net::any_io_executor loop, TargetCommand command) {
  Sink sink(loop);
  ChildProcess child(loop, {});
  const absl::Status started = co_await child.Start(command, sink);
  EXPECT_TRUE(started.ok()) << started;
  co_return child.pid();
}

TEST_F(ChildProcessTest, DroppingItKillsAndReapsTheChild) {
  auto result = RunOn(loop_, StartAndDrop(loop_.executor(), Shell("sleep 100").command));
  const pid_t pid = result.get();
  loop_.Join();  // returns when the child is reaped
  EXPECT_NE(kill(pid, 0), 0);
}

TEST_F(ChildProcessTest, LeavesNoDescriptorsBehind) {
  const auto count = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  Run(Shell("true"));
  const auto before = count();
  for (int i = 0; i < 20; ++i) Run(Shell("cat", "x\n"));
  EXPECT_EQ(count(), before);
}

TEST_F(ChildProcessTest, DescribesATarget) {
  const auto describe = [this](const std::string& program, std::chrono::milliseconds patience) {
    auto result =
        RunOn(loop_, DescribeChild(loop_.executor(), program, {}, patience, [] { return false; }));
    EXPECT_TRUE(test::IsReady(result));
    return result.get();
  };
  const auto facts = describe(ScriptedTarget(), std::chrono::seconds(30));
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->name(), "scripted");
  EXPECT_EQ(facts->tls_groups(), "X25519");
  EXPECT_EQ(describe("/bin/false", std::chrono::seconds(30)).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(describe("/bin/echo", std::chrono::seconds(30)).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(describe("/no/such", std::chrono::seconds(30)).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace fetchbench::agent
