#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>

#include "agent/container/container_config.h"
#include "agent/container/container_exit.h"
#include "agent/container/container_files.h"
#include "agent/container/container_limits.h"
#include "agent/container/context_file.h"
#include "agent/container/engine_cost.h"
#include "common/docker/sha256.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::agent {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

// A process of the daemon's name that has used some CPU time when this returns, and more at the end
// of its input. Killed with this object.
class BusyDaemon {
 public:
  BusyDaemon() {
    EXPECT_EQ(pipe(input_), 0);
    EXPECT_EQ(pipe(output_), 0);
    pid_ = fork();
    if (pid_ == 0) Run();
    char byte = 0;
    EXPECT_EQ(read(output_[0], &byte, 1), 1);
  }
  ~BusyDaemon() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    for (const int fd : {input_[0], input_[1], output_[0], output_[1]}) close(fd);
  }
  pid_t pid() const { return pid_; }
  void BurnMore() {
    char byte = 0;
    EXPECT_EQ(write(input_[1], "x", 1), 1);
    EXPECT_EQ(read(output_[0], &byte, 1), 1);
  }

 private:
  [[noreturn]] void Run() const {
    prctl(PR_SET_NAME, "dockerd");
    char byte = 'x';
    while (true) {
      const clock_t end = clock() + CLOCKS_PER_SEC / 10;
      while (clock() < end) continue;
      if (write(output_[1], &byte, 1) != 1 || read(input_[0], &byte, 1) != 1) _exit(0);
    }
  }

  int input_[2] = {-1, -1};
  int output_[2] = {-1, -1};
  pid_t pid_ = -1;
};

TEST(EngineCostTest, CountsWhatTheDaemonUsesFromTheTargetsStart) {
  BusyDaemon daemon;
  EngineCost cost = EngineCost::Begin(daemon.pid());
  cost.Restart();
  const uint64_t before = cost.CpuUs();
  daemon.BurnMore();
  EXPECT_GE(cost.CpuUs(), before + 80'000);  // the kernel's books are kept in steps of 10 ms
}

TEST(ContainerLimitsTest, OneFairSmallMachineByDefault) {
  const auto applied = ApplyLimits({}, {2, 3}, 10'000);
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->cpu_permille(), 1'000);
  EXPECT_EQ(applied->cpuset(), "2,3");
  EXPECT_EQ(applied->memory_bytes(), uint64_t{2} << 30);
  EXPECT_EQ(applied->open_files(), 10'000);  // the host's limit is lower than the wish
  EXPECT_EQ(applied->network_mode(), "bridge");
  EXPECT_EQ(ApplyLimits({}, {}, 0)->open_files(), 20'000);
}

TEST(ContainerLimitsTest, WhatMakesNoSenseIsNamed) {
  v1::ContainerOptions host;
  host.set_network_mode("host");
  EXPECT_THAT(std::string(ApplyLimits(host, {}, 0).status().message()), HasSubstr("network_mode"));
  v1::ContainerOptions cpus;
  cpus.set_cpuset("one");
  EXPECT_THAT(std::string(ApplyLimits(cpus, {}, 0).status().message()), HasSubstr("cpuset"));
  v1::ContainerOptions memory;
  memory.set_memory_bytes(5);
  EXPECT_THAT(std::string(ApplyLimits(memory, {}, 0).status().message()), HasSubstr("memory"));
  v1::ContainerOptions many;
  many.set_cpu_permille(std::numeric_limits<uint32_t>::max());
  EXPECT_THAT(std::string(ApplyLimits(many, {}, 0).status().message()),
              AllOf(HasSubstr("cpu_permille"), HasSubstr("at most")));
}

// The Engine takes some of them for "no limit".
TEST(ContainerLimitsTest, NumbersBeyondAnyHostAreRefused) {
  v1::ContainerOptions o;
  o.set_memory_bytes(UINT64_MAX);
  EXPECT_FALSE(ApplyLimits(o, {}, 0).ok());
  o.set_memory_bytes(uint64_t{1} << 63);
  EXPECT_FALSE(ApplyLimits(o, {}, 0).ok());
  o.Clear();
  o.set_open_files(UINT64_MAX);
  EXPECT_FALSE(ApplyLimits(o, {}, 0).ok());
  o.Clear();
  o.set_pids(UINT32_MAX);
  EXPECT_FALSE(ApplyLimits(o, {}, 0).ok());
  o.Clear();
  o.set_cpuset(std::string(kMaxCpusetBytes + 1, '1'));
  EXPECT_FALSE(ApplyLimits(o, {}, 0).ok());
}

TEST(ContainerConfigTest, RunsAsTheImagesUserUnlessThatIsRoot) {
  const auto user = [](const std::string& given) {
    ContainerSpec spec;
    spec.user = given;
    return std::string(ContainerConfig(spec, {}, {}, "o", "").at("User").as_string());
  };
  for (const char* root : {"", "root", "0", "0:0", "root:staff", "0:1000", "00"}) {
    EXPECT_EQ(user(root), "65534:65534") << root;
  }
  for (const char* other : {"1000", "1000:0", "app", "rooty", "10:10"}) {
    EXPECT_EQ(user(other), other);
  }
}

TEST(ContainerConfigTest, ResolversAreAddressesWithPort53) {
  EXPECT_EQ(*ResolverAddress(""), "");
  EXPECT_EQ(*ResolverAddress("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(*ResolverAddress("127.0.0.1:53"), "127.0.0.1");
  EXPECT_EQ(*ResolverAddress("[::1]:53"), "::1");
  EXPECT_EQ(*ResolverAddress("::1"), "::1");
  for (const char* bad : {"127.0.0.1:5353", "dns.example", "dns.example:53", "[::1",
                          "1.2.3.4:", "1.2.3.4\nsearch x"}) {
    EXPECT_FALSE(ResolverAddress(bad).ok()) << bad;
  }
}

TEST(ContainerConfigTest, CommandIsTheContractsEnvironment) {
  v1::FetchOptions options;
  options.set_concurrency(7);
  options.set_timeout_ms(2'050);
  auto command = ContainerCommand(options);
  ASSERT_TRUE(command.ok());
  EXPECT_THAT(command->environ, Contains("CONCURRENCY=7"));
  EXPECT_THAT(command->environ, Contains("REQUEST_TIMEOUT=2.050"));
  EXPECT_THAT(command->environ, Contains("USER_AGENT=fetchbench"));  // always set
  EXPECT_THAT(command->environ, Not(Contains(HasSubstr("CA_FILE"))));
  options.set_ca_pem("pem");
  command = ContainerCommand(options);
  for (const char* name : {"CA_FILE", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "DENO_CERT"}) {
    EXPECT_THAT(command->environ, Contains(std::string(name) + "=" + kContainerCaFile));
  }
}

TEST(ContainerExitTest, CrashesAreSignalsAndOrderlyStopsAreNot) {
  EXPECT_EQ(TargetExitCode(0), 0);
  EXPECT_EQ(TargetExitCode(3), 3);
  EXPECT_EQ(TargetExitCode(137), -9);
  EXPECT_EQ(TargetExitCode(139), -11);
  EXPECT_EQ(TargetExitCode(143), 143);
  EXPECT_EQ(TargetExitCode(130), 130);
}

TEST(ContainerFilesTest, TheyAreReadableForAllAndGoWithTheirOwner) {
  const test::TempFolder folder;
  std::string path;
  {
    const auto files = ContainerFiles::Make(folder.path(), "pem", "10.0.0.1");
    ASSERT_TRUE(files.ok());
    path = files->mounts().resolv_conf;
    std::ifstream in(path);
    std::string line;
    std::getline(in, line);
    EXPECT_EQ(line, "nameserver 10.0.0.1");
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0644));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_EQ(ContainerFiles::Make(folder.path(), "", "")->mounts().ca_file, "");
}

TEST(ContainerFilesTest, ATemporaryFolderThatIsNotThereIsDoneWithout) {
  const char* before = std::getenv("TMPDIR");
  const std::string saved = before == nullptr ? "" : before;
  setenv("TMPDIR", "/no/such/folder", 1);
  const auto folder = MakePrivateFolder("test-" + std::to_string(getpid()));
  if (before == nullptr) {
    unsetenv("TMPDIR");
  } else {
    setenv("TMPDIR", saved.c_str(), 1);
  }
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_THAT(*folder, testing::StartsWith("/tmp/"));
  std::filesystem::remove(*folder);
}

TEST(ContextFileTest, OnlyWhatWasAnnouncedIsTaken) {
  const std::string text(1024, '\0');  // an archive without entries
  auto file = ContextFile::Open(text.size());
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->Append(text.substr(0, 300)).ok());
  ASSERT_TRUE(file->Append(text.substr(300)).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(file->Append("")));
  EXPECT_TRUE(absl::IsResourceExhausted(file->Append("x")));
  const auto body = file->Close(docker::Sha256Hex(text));
  ASSERT_TRUE(body.ok()) << body.status();
  std::string read(2 * text.size(), 'x');
  EXPECT_EQ(*body->read(read.data(), read.size()), text.size());
  EXPECT_EQ(read.substr(0, text.size()), text);
  EXPECT_EQ(*body->read(read.data(), read.size()), 0);
  EXPECT_TRUE(absl::IsDataLoss(ContextFile::Open(3)->Close(docker::Sha256Hex("")).status()));
}

}  // namespace
}  // namespace fetchbench::agent
