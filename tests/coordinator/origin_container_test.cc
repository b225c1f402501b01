// The origin's container with a real Docker Engine; without one these say so and are skipped.
#include "coordinator/web/origin_container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/docker/owner.h"
#include "common/io_thread.h"
#include "coordinator/host/child_process.h"
#include "coordinator/web/origin_client.h"
#include "tests/support/container_image.h"
#include "tests/support/engine_proxy.h"
#include "tests/support/run_task.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::coordinator {
namespace {

using test::RunOn;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Started = absl::StatusOr<std::unique_ptr<OriginContainer>>;

class OriginContainerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test::EngineSocket().empty()) GTEST_SKIP() << test::kNoEngine;
  }

  Started Start(const std::string& socket) {
    OriginContainerPlan plan;
    plan.run_id = run_id_;
    plan.profile = "fast";
    plan.program = ProgramFolder() + "/fetchbench-origin";
    plan.profiles = FETCHBENCH_SOURCE "/data/profiles";
    const docker::EngineClient engine(loop_.executor(), socket);
    return RunOn(loop_, OriginContainer::Start(engine, std::move(plan), [] { return false; }))
        .get();
  }

  // Containers and networks of this test's run that the Engine knows.
  std::vector<std::string> Left() {
    docker::EngineClient client(loop_.executor(), test::EngineSocket());
    const std::vector<std::string> label{std::string(docker::kRunLabel) + "=" + run_id_};
    std::vector<std::string> names;
    const auto containers = RunOn(loop_, client.ListContainers(label)).get();
    EXPECT_TRUE(containers.ok()) << containers.status();
    for (const auto& container : *containers) names.push_back(container.name);
    const auto networks = RunOn(loop_, client.ListNetworks(label)).get();
    EXPECT_TRUE(networks.ok()) << networks.status();
    for (const auto& network : *networks) names.push_back(network.name);
    return names;
  }

  const std::string run_id_ = "test-origin-" + std::to_string(getpid());
  const test::TempFolder folder_;
  IoThread loop_{"origin-test"};
};

Task<int> RemoveIt(OriginContainer* origin) {
  co_await origin->Remove();
  co_return 0;
}

TEST_F(OriginContainerTest, ServesUntilItIsRemoved) {
  const Started origin = Start(test::EngineSocket());
  ASSERT_TRUE(origin.ok()) << origin.status();
  EXPECT_THAT((*origin)->control(), HasSubstr("unix:"));
  EXPECT_THAT((*origin)->network_mode(), HasSubstr("container:"));
  EXPECT_THAT(Left(), ::testing::SizeIs(1));
  OriginClient client(loop_.executor(), (*origin)->control());
  const auto config = RunOn(loop_, client.Config()).get();
  EXPECT_TRUE(config.ok()) << config.status();
  const std::string socket = (*origin)->control().substr(5);
  RunOn(loop_, RemoveIt(origin->get())).get();
  EXPECT_THAT(Left(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(socket).parent_path().parent_path()));
}

// A target joins this network namespace: it must not find the host there, under no address.
TEST_F(OriginContainerTest, HasNoNetworkButItsOwnLoopback) {
  const Started origin = Start(test::EngineSocket());
  ASSERT_TRUE(origin.ok()) << origin.status();
  docker::EngineClient client(loop_.executor(), test::EngineSocket());
  const std::string id = (*origin)->network_mode().substr(std::string("container:").size());
  const auto info = RunOn(loop_, client.InspectContainer(id)).get();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(docker::StringAt(*docker::ObjectAt(info->raw, "HostConfig"), "NetworkMode"), "none");
  std::ifstream devices("/proc/" + std::to_string(info->pid) + "/net/dev");
  std::vector<std::string> names;
  for (std::string line; std::getline(devices, line);) {
    const size_t colon = line.find(':');
    if (colon != std::string::npos) names.push_back(line.substr(0, colon));
  }
  EXPECT_THAT(names, ::testing::Contains(HasSubstr("lo")));
  std::ifstream routes("/proc/" + std::to_string(info->pid) + "/net/route");
  std::string text{std::istreambuf_iterator<char>(routes), {}};
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;  // its head alone
  RunOn(loop_, RemoveIt(origin->get())).get();
}

// What the Engine made all the same is removed too.
TEST_F(OriginContainerTest, ACallWhoseAnswerIsLostLeavesNothing) {
  const std::string socket = folder_.File("engine");
  test::EngineProxy proxy(socket, test::EngineSocket());
  proxy.KeepAnswersTo("/containers/create");
  const Started origin = Start(socket);
  EXPECT_TRUE(absl::IsUnavailable(origin.status())) << origin.status();
  EXPECT_THAT(Left(), IsEmpty());
}

}  // namespace
}  // namespace fetchbench::coordinator
