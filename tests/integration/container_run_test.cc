// Container targets from the command line to the summary, with a real Docker Engine; without one
// these say so and are skipped.

#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "common/docker/engine_client.h"
#include "common/docker/engine_json.h"
#include "common/docker/owner.h"
#include "tests/integration/run_fixture.h"
#include "tests/support/container_image.h"
#include "tests/support/run_task.h"

namespace fetchbench::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kScripted = R"({"name": "test/scripted", "kind": "fetch",
  "language": "C++", "method": "scripted", "aliases": ["scripted"], "concurrency": 10,
  "stage": ["fetchbench-container-target"]})";

class ContainerRunTest : public RunFixture {
 protected:
  void SetUp() override {
    if (EngineSocket().empty()) GTEST_SKIP() << kNoEngine;
    // One target that does as it is told, beside the real one.
    std::filesystem::create_directories(folder_.File("lib/test/scripted"));
    folder_.Write("lib/test/scripted/target.json", kScripted);
    folder_.Write("lib/test/scripted/Dockerfile",
                  "FROM scratch\nCOPY bin/ /\nENTRYPOINT [\"/fetchbench-container-target\"]\n");
    environment_ = {{"FETCHBENCH_LIB", folder_.File("lib")}};
  }

  std::vector<std::string> ContainerCommand(const std::string& target,
                                            const std::vector<std::string>& options,
                                            const std::string& web = "sim:fast") const {
    std::vector<std::string> arguments{Bin("fetchbench-coordinator"),
                                       "run",
                                       target,
                                       "--web",
                                       web,
                                       "--out",
                                       Out(),
                                       "--progress",
                                       "plain"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return arguments;
  }

  std::unique_ptr<Program> RunContainer(const std::string& target, int urls,
                                        const std::vector<std::string>& options,
                                        const std::map<std::string, std::string>& environment) {
    auto program = std::make_unique<Program>(ContainerCommand(target, options), environment);
    program->Write(List(urls));
    program->CloseInput();
    exit_ = program->WaitForExit();
    return program;
  }

  std::string RunId() const {
    return std::filesystem::read_symlink(folder_.File("out/latest")).string();
  }

  // Of a run that has just been started, and takes seconds to come to anything.
  std::string AwaitRunId() const {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!std::filesystem::is_symlink(folder_.File("out/latest")) &&
           std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return RunId();
  }

  // Containers and networks of a run that the Engine knows.
  static std::vector<std::string> EngineHas(const std::string& run_id) {
    IoThread thread("engine");
    docker::EngineClient client(thread.executor(), EngineSocket());
    const std::vector<std::string> label{std::string(docker::kRunLabel) + "=" + run_id};
    std::vector<std::string> names;
    const auto containers = RunOn(thread, client.ListContainers(label)).get();
    EXPECT_TRUE(containers.ok()) << containers.status();
    if (containers.ok()) {
      for (const auto& container : *containers) names.push_back(container.name);
    }
    const auto networks = RunOn(thread, client.ListNetworks(label)).get();
    EXPECT_TRUE(networks.ok()) << networks.status();
    if (networks.ok()) {
      for (const auto& network : *networks) names.push_back(network.name);
    }
    return names;
  }
  // The same, once the Engine has had time: what ended by itself it removes by itself, and answers
  // a removal that comes meanwhile before it is done.
  static std::vector<std::string> LeftBehind(const std::string& run_id) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    std::vector<std::string> names = EngineHas(run_id);
    while (!names.empty() && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      names = EngineHas(run_id);
    }
    return names;
  }

  // What is in the folder for temporary files of the programs that are given it.
  std::vector<std::string> TemporaryFolders() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.File("tmp"))) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  std::map<std::string, std::string> environment_;
};

// The fetcher itself, staged into its folder: names, certificates and bodies go over the
// container's own web.
TEST_F(ContainerRunTest, FetchesEveryUrlFromAWebOfItsOwn) {
  const auto run = RunContainer("cpp", 300, {"--concurrency", "50", "--memory", "256m"}, {});
  ASSERT_EQ(exit_, 0) << run->error();
  ExpectBalanced();
  const boost::json::value summary = Summary();
  EXPECT_EQ(summary.at("2xx").to_number<int>(), 300) << run->output();
  EXPECT_EQ(summary.at("origin").at("responses").at("200").to_number<int>(), 300);
  const auto& facts = summary.at("run").as_object();
  EXPECT_EQ(facts.at("target").as_string(), "cpp/beast");
  EXPECT_TRUE(facts.at("image_digest").as_string().starts_with("sha256:"));
  EXPECT_THAT(std::string(facts.at("limits").as_string()), HasSubstr("memory"));
  const auto& cost = summary.at("cost").as_object();
  EXPECT_GT(cost.at("target_user_s").to_number<double>(), 0);
  EXPECT_GT(cost.at("target_peak_memory_bytes").to_number<int64_t>(), 0);
  EXPECT_THAT(std::string(cost.at("cost_basis").as_string()), HasSubstr("cgroup"));
  EXPECT_THAT(run->output(), ContainsRegex("measuring[[:space:]]+cost")) << "lines may end there";
  EXPECT_THAT(LeftBehind(RunId()), IsEmpty());
}

TEST_F(ContainerRunTest, ATargetThatCrashesIsNamedWithItsLastWords) {
  const auto run = RunContainer("scripted", 50, {"--user-agent", "exit-after=5"}, environment_);
  EXPECT_EQ(exit_, 3) << run->error();
  EXPECT_THAT(run->error(), HasSubstr("target test/scripted"));
  EXPECT_THAT(run->error(), HasSubstr("last words"));
  ExpectBalanced();
  EXPECT_NE(Ask("SELECT count(*) FROM records WHERE outcome='client_crashed'"), "0");
  EXPECT_THAT(LeftBehind(RunId()), IsEmpty());
}

TEST_F(ContainerRunTest, AnAgentWithoutRoomOnItsDiskIsLeftOutAndTheOtherDoesTheRun) {
  const std::string disk = folder_.File("disk");
  std::filesystem::create_directory(disk);
  if (mount("none", disk.c_str(), "tmpfs", 0, "size=64k") != 0) GTEST_SKIP() << "no tmpfs";
  std::ofstream(disk + "/all") << std::string(128 << 10, 'x');
  {
    const auto full = StartAgentAt(0, {{"TMPDIR", disk}});
    const auto other = StartAgentAt(1);
    const auto run =
        RunContainer("cpp", 200, {"--agents", AgentAddress(0) + "," + AgentAddress(1)}, {});
    EXPECT_EQ(exit_, 0) << run->error();
    ExpectBalanced();
    EXPECT_EQ(Summary().at("2xx").to_number<int>(), 200);
    EXPECT_TRUE(Summary().at("degraded").as_bool());
    EXPECT_THAT(std::string(Summary().at("reason").as_string()),
                AllOf(HasSubstr(AgentAddress(0) + " lost"), HasSubstr("No space left on device")));
    EXPECT_THAT(LeftBehind(RunId()), IsEmpty());
  }
  EXPECT_EQ(umount(disk.c_str()), 0);
}

TEST_F(ContainerRunTest, ABuildThatFailsShowsItsStep) {
  folder_.Write("lib/test/scripted/Dockerfile", "FROM scratch\nCOPY not-there /\n");
  const auto run = RunContainer("scripted", 5, {}, environment_);
  EXPECT_EQ(exit_, 3) << run->error();
  EXPECT_THAT(run->error(),
              AllOf(HasSubstr("test/scripted"), HasSubstr("COPY"), HasSubstr("not-there")));
  EXPECT_THAT(LeftBehind(RunId()), IsEmpty());
}

TEST_F(ContainerRunTest, AFolderInPlaceOfTheDockerfileIsTheUsersMistake) {
  std::filesystem::remove(folder_.File("lib/test/scripted/Dockerfile"));
  std::filesystem::create_directories(folder_.File("lib/test/scripted/Dockerfile"));
  const auto run = RunContainer("scripted", 1, {}, environment_);
  EXPECT_EQ(exit_, 2) << run->error();
  EXPECT_THAT(run->error(), HasSubstr("Dockerfile is no file"));
}

TEST_F(ContainerRunTest, WrongArgumentsAndImagesAreTheUsersMistake) {
  EXPECT_NE(RunContainer("scripted", 1, {"--build-arg", "NO=1"}, environment_)
                ->error()
                .find("no such ARG"),
            std::string::npos);
  EXPECT_EQ(exit_, 2);
  const auto run =
      RunContainer("scripted", 1, {"--image", "fetchbench/no-such-image:1"}, environment_);
  EXPECT_EQ(exit_, 2) << run->error();
  EXPECT_THAT(run->error(), HasSubstr("no-such-image"));
  const auto many = RunContainer("scripted", 1, {"--cpus", "1000"}, environment_);
  EXPECT_EQ(exit_, 2) << many->error();
  EXPECT_THAT(many->error(), AllOf(HasSubstr("no agent could start the run"), HasSubstr("CPUs"),
                                   Not(HasSubstr("could be reached"))));
  folder_.Write("broken.json", "{");
  const auto profile = std::make_unique<Program>(
      ContainerCommand("scripted", {}, "sim:" + folder_.File("broken.json")), environment_);
  const std::string run_id = AwaitRunId();  // nothing but the Engine knows it in the end
  profile->CloseInput();
  EXPECT_EQ(profile->WaitForExit(), 2) << profile->error();
  EXPECT_THAT(profile->error(), HasSubstr("profile"));
  EXPECT_THAT(LeftBehind(run_id), IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.File("out")));
}

TEST_F(ContainerRunTest, AProfileOfOnesOwnReachesTheContainer) {
  std::filesystem::copy_file(FETCHBENCH_SOURCE "/data/profiles/fast.json",
                             folder_.File("mine.json"));
  std::filesystem::permissions(folder_.File("mine.json"), std::filesystem::perms::owner_read);
  Program run(ContainerCommand("cpp", {}, "sim:" + folder_.File("mine.json")));
  run.Write(List(20));
  run.CloseInput();
  EXPECT_EQ(run.WaitForExit(), 0) << run.error();
  EXPECT_EQ(Summary().at("2xx").to_number<int>(), 20);
}

// An origin that somebody else started, where containers reach it: at the host's address in a
// network of the test's own.
class OriginElsewhereTest : public ContainerRunTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root may serve on ports 53, 80 and 443";
    ContainerRunTest::SetUp();
    if (IsSkipped()) return;
    boost::json::object config{{"Driver", "bridge"}};
    config["Labels"] =
        docker::ToJson({{std::string(docker::kOwnerLabel), docker::ThisProcess().Text()}});
    const auto made = RunOn(thread_, client_.CreateNetwork(network_, std::move(config))).get();
    ASSERT_TRUE(made.ok()) << made.status();
    const auto info = RunOn(thread_, client_.InspectNetwork(network_)).get();
    ASSERT_TRUE(info.ok()) << info.status();
    address_ = info->gateway;
  }
  void TearDown() override {
    if (!address_.empty()) RunOn(thread_, client_.RemoveNetwork(network_)).get().IgnoreError();
  }

  std::unique_ptr<Program> StartOrigin(const std::vector<std::string>& ports) const {
    std::vector<std::string> arguments{
        Bin("fetchbench-origin"), "--profile", "fast", "--listen", address_, "--control",
        address_ + ":8000"};
    arguments.insert(arguments.end(), ports.begin(), ports.end());
    auto origin = std::make_unique<Program>(arguments);
    EXPECT_TRUE(origin->WaitForOutput("control")) << origin->error();
    return origin;
  }
  void RunWithOrigin(Program& run) {
    run.Write(List(40));
    run.CloseInput();
    exit_ = run.WaitForExit();
  }
  std::vector<std::string> Command() const {
    return {Bin("fetchbench-coordinator"),
            "run",
            "cpp",
            "--origin",
            address_ + ":8000",
            "--out",
            Out(),
            "--progress",
            "plain"};
  }

  const std::string network_ = "fetchbench-test-elsewhere-" + std::to_string(getpid());
  IoThread thread_{"engine"};
  docker::EngineClient client_{thread_.executor(), EngineSocket()};
  std::string address_;
};

TEST_F(OriginElsewhereTest, ServesContainersOnTheUsualPorts) {
  const auto origin = StartOrigin({"--dns-port", "53", "--http-port", "80", "--https-port", "443"});
  Program run(Command());
  RunWithOrigin(run);
  ASSERT_EQ(exit_, 0) << run.error();
  ExpectBalanced();
  EXPECT_EQ(Summary().at("2xx").to_number<int>(), 40) << run.output();
  EXPECT_EQ(Summary().at("origin").at("responses").at("200").to_number<int>(), 40);
  EXPECT_THAT(LeftBehind(RunId()), IsEmpty());
}

TEST_F(OriginElsewhereTest, OnOtherPortsIsTheUsersMistake) {
  const auto origin = StartOrigin({"--dns-port", "53"});
  Program run(Command());
  RunWithOrigin(run);
  EXPECT_EQ(exit_, 2) << run.error();
  EXPECT_THAT(run.error(), AllOf(HasSubstr("53, 80 and 443 only"), HasSubstr("--http-port 80")));
}

TEST_F(ContainerRunTest, CtrlCSumsUpAndRemovesAll) {
  Program run(
      ContainerCommand("cpp", {"--concurrency", "20", "--format", "plain"}, "sim:published"));
  run.Write(List(20'000));
  run.CloseInput();
  ASSERT_TRUE(run.WaitForOutput("\n")) << run.error();
  run.Signal(SIGINT);
  EXPECT_EQ(run.WaitForExit(), 130) << run.error();
  ExpectBalanced();
  EXPECT_THAT(LeftBehind(RunId()), IsEmpty());
}

// The local agent dies with its coordinator, and neither can tidy up; the origin's container ends
// by itself, and the next run removes the rest.
TEST_F(ContainerRunTest, WhatAKilledCoordinatorLeavesIsGoneAfterTheNextRun) {
  std::string killed;
  std::filesystem::create_directory(folder_.File("tmp"));
  const std::map<std::string, std::string> environment{{"TMPDIR", folder_.File("tmp")}};
  {
    Program run(
        ContainerCommand("cpp", {"--concurrency", "20", "--format", "plain"}, "sim:published"),
        environment);
    run.Write(List(20'000));
    run.CloseInput();
    ASSERT_TRUE(run.WaitForOutput("\n")) << run.error();
    killed = RunId();
    EXPECT_THAT(TemporaryFolders(), Not(IsEmpty()));
    EXPECT_THAT(EngineHas(killed), Not(IsEmpty()));
    run.Signal(SIGKILL);
    EXPECT_EQ(run.WaitForExit(), -SIGKILL);
  }
  const auto run = RunContainer("cpp", 20, {}, environment);
  EXPECT_EQ(exit_, 0) << run->error();
  EXPECT_THAT(LeftBehind(killed), IsEmpty());
  EXPECT_THAT(TemporaryFolders(), IsEmpty());
}

}  // namespace
}  // namespace fetchbench::test
