// The origin's container with a real Docker Engine; without one these say so and are skipped.
#include "coordinator/run/origin_container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/docker/owner.h"
#include "common/io_thread.h"
#include "coordinator/run/child_process.h"
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
  EXPECT_THAT((*origin)->control(), HasSubstr(":8000"));
  EXPECT_THAT((*origin)->network_mode(), HasSubstr("container:"));
  EXPECT_THAT(Left(), ::testing::SizeIs(2));
  RunOn(loop_, RemoveIt(origin->get())).get();
  EXPECT_THAT(Left(), IsEmpty());
}

// What the Engine made all the same is removed too.
TEST_F(OriginContainerTest, ACallWhoseAnswerIsLostLeavesNothing) {
  for (const std::string call : {"/networks/create", "/containers/create"}) {
    const std::string socket = folder_.File(call.substr(1, 8));
    test::EngineProxy proxy(socket, test::EngineSocket());
    proxy.KeepAnswersTo(call);
    const Started origin = Start(socket);
    EXPECT_TRUE(absl::IsUnavailable(origin.status())) << call << ": " << origin.status();
    EXPECT_THAT(Left(), IsEmpty()) << call;
  }
}

}  // namespace
}  // namespace fetchbench::coordinator
