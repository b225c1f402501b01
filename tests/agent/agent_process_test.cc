// The agent as a program: what it prints, how it ends.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/json.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/grpc_options.h"
#include "tests/support/agent_client.h"

namespace fetchbench {
namespace {

using test::Drive;
using test::MakeStart;
using test::MakeUrls;
using test::RunStream;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string Sibling(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

// A started program with its standard output.
class Program {
 public:
  explicit Program(std::vector<std::string> argv) {
    std::array<int, 2> out{};
    if (pipe2(out.data(), O_CLOEXEC) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      dup2(out[1], STDOUT_FILENO);
      std::vector<char*> pointers;
      for (std::string& arg : argv) pointers.push_back(arg.data());
      pointers.push_back(nullptr);
      execv(pointers[0], pointers.data());
      _exit(127);
    }
    close(out[1]);
    output_ = out[0];
  }
  ~Program() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(output_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::string ReadLine() const {
    std::string line;
    char c = 0;
    while (read(output_, &c, 1) == 1 && c != '\n') line += c;
    return line;
  }
  void Signal(int number) const { kill(pid_, number); }
  // Exit code, or -signal.
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

// Connections that nobody says anything on, as many as are taken.
class SilentConnections {
 public:
  SilentConnections(const std::string& address, int count) {
    const int port = std::stoi(address.substr(address.rfind(':') + 1));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<in_port_t>(port));
    for (int i = 0; i < count; ++i) {
      fds_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (connect(fds_.back(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) return;
    }
  }
  ~SilentConnections() {
    for (const int fd : fds_) close(fd);
  }
  SilentConnections(const SilentConnections&) = delete;
  SilentConnections& operator=(const SilentConnections&) = delete;

  size_t count() const { return fds_.size(); }

  // Until the agent has hung up on that many of them.
  void AwaitRefused(size_t count) {
    std::vector<pollfd> polled;
    for (const int fd : fds_) polled.push_back({fd, POLLIN, 0});
    while (count > 0) {
      ASSERT_GT(poll(polled.data(), polled.size(), 30'000), 0) << count << " were not refused";
      for (pollfd& one : polled) {
        if (one.revents == 0) continue;
        one.fd = -1;
        if (--count == 0) return;
      }
    }
  }

 private:
  std::vector<int> fds_;
};

std::unique_ptr<Program> StartAgent(std::vector<std::string> more = {}) {
  std::vector<std::string> argv = {
      Sibling("fetchbench-agent"),           "--listen",    "127.0.0.1:0", "--native",
      Sibling("fetchbench-scripted-target"), "--log-level", "warn"};
  argv.insert(argv.end(), more.begin(), more.end());
  return std::make_unique<Program>(argv);
}

std::string ListenOf(const Program& agent) {
  const auto ready = boost::json::parse(agent.ReadLine());
  return std::string(ready.at("listen").as_string());
}

std::unique_ptr<v1::Agent::Stub> Connect(const std::string& address) {
  return v1::Agent::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                                      ClientChannelArguments()));
}

TEST(AgentProcessTest, SaysWhereItListensRunsAndEndsAtSigterm) {
  auto agent = StartAgent();
  const std::string address = ListenOf(*agent);
  EXPECT_THAT(address, HasSubstr("127.0.0.1:"));
  const auto stub = Connect(address);
  {
    RunStream stream(*stub, MakeStart("r"));
    EXPECT_THAT(Drive(stream, MakeUrls(500)).records, SizeIs(500));
  }
  agent->Signal(SIGTERM);
  EXPECT_EQ(agent->Wait(), 0);
}

TEST(AgentProcessTest, SigtermEndsTheTargetTooWithinSeconds) {
  auto agent = StartAgent();
  const auto stub = Connect(ListenOf(*agent));
  RunStream stream(*stub, MakeStart("r", "deaf ignore-term"));
  ASSERT_TRUE(stream.ReadUntil(v1::AgentMessage::kStarted));
  const auto begin = std::chrono::steady_clock::now();
  agent->Signal(SIGTERM);
  EXPECT_EQ(agent->Wait(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10))
      << "2 s on an idle machine";
  EXPECT_EQ(stream.End().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(AgentProcessTest, DeathOfTheAgentEndsTheStreamAndTheTarget) {
  auto agent = StartAgent();
  const auto stub = Connect(ListenOf(*agent));
  RunStream stream(*stub, MakeStart("r", "deaf ignore-term"));
  ASSERT_TRUE(stream.ReadUntil(v1::AgentMessage::kStarted));
  const std::string children = "/proc/" + std::to_string(agent->pid()) + "/task";
  pid_t target = -1;
  for (const auto& task : std::filesystem::directory_iterator(children)) {
    FILE* file = fopen((task.path() / "children").c_str(), "re");
    if (file == nullptr) continue;
    if (fscanf(file, "%d", &target) != 1) target = target < 0 ? -1 : target;
    fclose(file);
  }
  agent->Signal(SIGKILL);
  agent->Wait();
  EXPECT_EQ(stream.End().error_code(), grpc::StatusCode::UNAVAILABLE);
  if (target < 0) GTEST_SKIP() << "this kernel does not list children";
  const std::string exe = "/proc/" + std::to_string(target) + "/exe";
  std::error_code error;
  for (int i = 0; i < 500 && !std::filesystem::read_symlink(exe, error).empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(error) << "the target outlived its agent";
}

TEST(AgentProcessTest, EndsWithItsParent) {
  // A shell starts the agent, passes its output on and is killed.
  std::vector<std::string> argv = {
      "/bin/sh", "-c",
      Sibling("fetchbench-agent") +
          " --listen 127.0.0.1:0 --log-level off --exit-with-parent & wait"};
  Program shell(argv);
  const auto stub = Connect(ListenOf(shell));
  const auto describe = [&stub] {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    v1::DescribeResponse response;
    return stub->Describe(&context, {}, &response).ok();
  };
  EXPECT_TRUE(describe());
  shell.Signal(SIGKILL);
  for (int i = 0; i < 500 && describe(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(describe());
}

TEST(AgentProcessTest, WrongUsageIsExitCodeTwo) {
  EXPECT_EQ(StartAgent({"--no-such-option"})->Wait(), 2);
  EXPECT_EQ(StartAgent({"--target-cpus", "x"})->Wait(), 2);
  EXPECT_EQ(StartAgent({"--listen", "nonsense"})->Wait(), 2);
  EXPECT_EQ(StartAgent({"--orphan-timeout", "-1"})->Wait(), 2);
  // Without credentials on an address that others reach.
  EXPECT_EQ(StartAgent({"--listen", "0.0.0.0:0", "--credentials", "/nonexistent"})->Wait(), 2);
  EXPECT_EQ(StartAgent({"--help"})->Wait(), 0);
  EXPECT_EQ(StartAgent({"--version"})->Wait(), 0);
}

// The highest number that a list can have, which no machine of a test has.
TEST(AgentProcessTest, CpusThatAreNotThereAreRefusedAndThoseThatAreNamed) {
  for (const std::string option : {"--target-cpus", "--cpus"}) {
    for (const std::string list : {"1023", "0-1023"}) {
      Program agent({"/bin/sh", "-c", "exec \"$0\" \"$@\" 2>&1", Sibling("fetchbench-agent"),
                     "--listen", "127.0.0.1:0", option, list});
      ASSERT_THAT(agent.ReadLine(),
                  AllOf(HasSubstr(option), HasSubstr("1023"), HasSubstr("may use are ")));
      EXPECT_EQ(agent.Wait(), 2) << option << " " << list;
    }
  }
}

// Who starts an agent may itself keep to other ones.
TEST(AgentProcessTest, TargetsMayHaveCpusThatTheAgentItselfHasNot) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &all)) cpus.push_back(cpu);
  }
  if (cpus.size() < 2) GTEST_SKIP() << "there is one CPU";
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(cpus.front(), &first);
  ASSERT_EQ(sched_setaffinity(0, sizeof first, &first), 0);
  auto agent = StartAgent({"--target-cpus", std::to_string(cpus.back())});
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
  EXPECT_TRUE(Connect(ListenOf(*agent)) != nullptr);
}

grpc::Status Describe(v1::Agent::Stub& stub) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  v1::DescribeResponse response;
  return stub.Describe(&context, {}, &response);
}

TEST(AgentProcessTest, AFloodOfConnectionsClosesTheDoorForNobody) {
  // With so few descriptors as a flood leaves of any number.
  Program agent({"/bin/sh", "-c", "ulimit -n 64 && exec \"$0\" \"$@\"", Sibling("fetchbench-agent"),
                 "--listen", "127.0.0.1:0", "--native", Sibling("fetchbench-scripted-target"),
                 "--log-level", "error"});
  const std::string address = ListenOf(agent);
  const auto before = Connect(address);
  ASSERT_TRUE(Describe(*before).ok());
  {
    SilentConnections flood(address, 150);
    ASSERT_EQ(flood.count(), 150u);
    flood.AwaitRefused(80);
    // Who was there already is served.
    const grpc::Status status = Describe(*before);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  const grpc::Status status = Describe(*Connect(address));
  EXPECT_TRUE(status.ok()) << status.error_message();
}

}  // namespace
}  // namespace fetchbench
