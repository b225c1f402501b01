// An image on its way from one agent to another: both daemons, the coordinator's part and a real
// Docker Engine. The second agent reaches it through a proxy that hides its images until one is
// loaded, so to that agent it is an Engine of its own.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "agent/server.h"
#include "common/docker/engine_client.h"
#include "common/docker/sha256.h"
#include "common/io_thread.h"
#include "coordinator/prepare/prepare_fleet.h"
#include "tests/support/container_image.h"
#include "tests/support/engine_proxy.h"
#include "tests/support/run_task.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class ImageShippingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (EngineSocket().empty()) GTEST_SKIP() << kNoEngine;
    // Unlike any image there is.
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    context_ =
        TargetContext(fmt::format("{}LABEL fresh={}-{}\n", kTargetDockerfile, getpid(), now));
  }
  void TearDown() override {
    if (!id_.empty()) RunOn(loop_, client_.RemoveImage(id_)).get().IgnoreError();
  }

  std::unique_ptr<agent::AgentServer> StartAgent(const std::string& name,
                                                 const std::string& docker_socket) {
    const std::filesystem::path bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    agent::AgentConfig config;
    config.version = "1.2.3";
    config.native_path = bin / "fetchbench-native";
    config.entry_path = bin / "fetchbench-entry";
    config.docker_socket = docker_socket;
    config.host.set_hostname(name);
    config.host.set_architecture("x86_64");
    const std::string address = "unix:" + folder_.File(name);
    auto server = agent::AgentServer::Start(config, address);
    EXPECT_TRUE(server.ok()) << server.status();
    call_.endpoints.push_back({address, name});
    return server.ok() ? *std::move(server) : nullptr;
  }

  coordinator::FleetPrepared Prepare() {
    call_.loop = loop_.executor();
    call_.plan.spec.set_name("test/scripted");
    call_.plan.spec.set_context_sha256(docker::Sha256Hex(context_));
    call_.plan.context = std::make_shared<const std::string>(context_);
    call_.folder = folder_.path();
    call_.events.progress = [this](size_t agent, const v1::PrepareProgress& progress) {
      told_.push_back(fmt::format("{}: {}", agent, progress.message()));
    };
    call_.events.stopped = [] { return false; };
    auto prepared = RunOn(loop_, coordinator::PrepareFleet(call_)).get();
    if (prepared.agents[0].ok()) id_ = prepared.agents[0]->image_digest();
    return prepared;
  }

  // Both agents are ready, with the same.
  void ExpectOneImage(const coordinator::FleetPrepared& prepared) const {
    ASSERT_TRUE(prepared.agents[0].ok()) << prepared.agents[0].status();
    ASSERT_TRUE(prepared.agents[1].ok()) << prepared.agents[1].status();
    EXPECT_EQ(prepared.agents[1]->image_digest(), id_);
  }

  const TempFolder folder_;
  IoThread loop_{"shipping-test"};
  docker::EngineClient client_{loop_.executor(), EngineSocket()};
  std::string context_;
  std::string id_;
  coordinator::FleetCall call_;
  std::vector<std::string> told_;
};

TEST_F(ImageShippingTest, TheSecondAgentRunsTheImageThatTheFirstOneBuilt) {
  EngineProxy proxy(folder_.File("engine.sock"), EngineSocket());
  proxy.HideImagesUntilOneIsLoaded();
  const auto one = StartAgent("one", EngineSocket());
  const auto two = StartAgent("two", folder_.File("engine.sock"));
  const coordinator::FleetPrepared prepared = Prepare();
  ASSERT_NO_FATAL_FAILURE(ExpectOneImage(prepared));
  EXPECT_EQ(proxy.loads(), 1);
  EXPECT_TRUE(prepared.one_image.ok());
  EXPECT_THAT(told_, Contains(HasSubstr("0: Step 1/")));
  EXPECT_THAT(told_, Contains(HasSubstr("1: image from agent one: ")));
  EXPECT_THAT(told_, ::testing::Not(Contains(HasSubstr("1: Step 1/"))));
}

TEST_F(ImageShippingTest, AgentsOfOneEngineShipNothing) {
  EngineProxy proxy(folder_.File("engine.sock"), EngineSocket());
  const auto one = StartAgent("one", EngineSocket());
  const auto two = StartAgent("two", folder_.File("engine.sock"));
  const coordinator::FleetPrepared prepared = Prepare();
  ASSERT_NO_FATAL_FAILURE(ExpectOneImage(prepared));
  EXPECT_EQ(proxy.loads(), 0);
}

}  // namespace
}  // namespace fetchbench::test
