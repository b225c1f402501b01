// The client against a real Engine; each test removes what it made.
#include "common/docker/engine_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include <thread>

#include <chrono>
#include <string>
#include <vector>

#include "common/docker/leftovers.h"
#include "common/docker/owner.h"
#include "common/io_thread.h"
#include "tests/support/container_image.h"
#include "tests/support/run_task.h"

namespace fetchbench::docker {
namespace {

namespace json = boost::json;
using test::RunOn;
using ::testing::Contains;
using ::testing::HasSubstr;

class EngineClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test::EngineSocket().empty()) GTEST_SKIP() << test::kNoEngine;
  }
  template <typename T>
  T Get(Task<T> task) {
    return RunOn(loop_, std::move(task)).get();
  }

  BuildRequest Request(const std::string& dockerfile) {
    BuildRequest request;
    request.name = "a test's image";
    request.context = BodyFromString(test::TargetContext(dockerfile));
    request.labels = {{"fetchbench.test", "yes"}};
    return request;
  }
  std::string Build() {
    const auto id = Get(client_.BuildImage(Request(test::kTargetDockerfile), nullptr));
    EXPECT_TRUE(id.ok()) << id.status();
    return id.ok() ? *id : "";
  }
  std::string Name(const std::string& what) {
    return "fetchbench-test-" + what + "-" + std::to_string(getpid());
  }

  IoThread loop_{"docker-test"};
  EngineClient client_{loop_.executor(), test::EngineSocket()};
};

TEST_F(EngineClientTest, TellsItsVersionAndFacts) {
  const auto version = Get(client_.Version());
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_NE(version->version, "");
  const auto info = Get(client_.Info());
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_THAT(info->cgroup_driver, ::testing::AnyOf("cgroupfs", "systemd"));
  EXPECT_GT(Get(client_.EnginePid()), 0);
}

TEST_F(EngineClientTest, BuildsWithArgumentsAndLabelsAndShowsItsSteps) {
  BuildRequest request = Request(
      "ARG WORD=none\nFROM scratch\nARG WORD\nLABEL word=${WORD}\n"
      "COPY target /target\nENTRYPOINT [\"/target\"]\n");
  request.tag = "fetchbench/test-client:args";
  request.build_args = {{"WORD", "hello & co"}};
  std::vector<std::string> lines;
  const EngineClient::TextSink sink = [&lines](std::string_view line) { lines.emplace_back(line); };
  const auto id = Get(client_.BuildImage(std::move(request), sink));
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_THAT(lines, Contains(HasSubstr("FROM scratch")));
  const auto image = Get(client_.InspectImage("fetchbench/test-client:args"));
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->id, *id);
  EXPECT_EQ(image->labels.at("word"), "hello & co");
  EXPECT_EQ(image->labels.at("fetchbench.test"), "yes");
  EXPECT_TRUE(Get(client_.TagImage(*id, "fetchbench/test-client", "second")).ok());
  EXPECT_TRUE(Get(client_.RemoveImage("fetchbench/test-client:args")).ok());
  EXPECT_TRUE(Get(client_.InspectImage("fetchbench/test-client:second")).ok());
  EXPECT_TRUE(Get(client_.RemoveImage("fetchbench/test-client:second")).ok());
  EXPECT_TRUE(
      absl::IsNotFound(Get(client_.InspectImage("fetchbench/test-client:second")).status()));
}

TEST_F(EngineClientTest, AFailedBuildShowsTheStepAndItsOutput) {
  const auto missing =
      Get(client_.BuildImage(Request("FROM scratch\nCOPY not-there /\n"), nullptr));
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("not-there"));
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("Step 2/"));
  const auto syntax = Get(client_.BuildImage(Request("FRUM scratch\n"), nullptr));
  EXPECT_THAT(std::string(syntax.status().message()), HasSubstr("FRUM"));
  BuildRequest odd = Request("FROM scratch\nLABEL a=b\n");
  odd.tag = "UPPER CASE";
  EXPECT_FALSE(Get(client_.BuildImage(std::move(odd), nullptr)).ok());
}

Task<absl::Status> Converse(EngineClient client, std::string id, std::string input,
                            std::string& output) {
  absl::StatusOr<AttachStream> stream = co_await client.AttachContainer(id, true);
  if (!stream.ok()) co_return stream.status();
  absl::Status started = co_await client.StartContainer(id);
  if (!started.ok()) co_return started;
  absl::Status written = co_await stream->Write(input);
  if (!written.ok()) co_return written;
  stream->CloseInput();
  const StreamDemux::Sink sink = [&output](StreamDemux::Stream /*stream*/, std::string_view bytes) {
    output += bytes;
  };
  absl::Status read = absl::OkStatus();
  while (read.ok()) read = co_await stream->Read(sink);
  co_return read;
}

TEST_F(EngineClientTest, AContainersWholeLife) {
  const std::string image = Build();
  const std::string name = Name("life");
  const json::object config = {{"Image", image},
                               {"OpenStdin", true},
                               {"StdinOnce", true},
                               {"AttachStdin", true},
                               {"AttachStdout", true},
                               {"Labels", json::object{{"fetchbench.test", name}}},
                               {"HostConfig", json::object{{"NetworkMode", "none"}}}};
  const auto id = Get(client_.CreateContainer(name, config));
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_TRUE(absl::IsFailedPrecondition(Get(client_.CreateContainer(name, config)).status()));
  std::string output;
  const absl::Status end = Get(Converse(client_, *id, "http://a/\nhttp://b/\n", output));
  EXPECT_TRUE(absl::IsOutOfRange(end)) << end;
  EXPECT_THAT(output, HasSubstr("http://b/,200,"));
  EXPECT_EQ(*Get(client_.WaitContainer(*id, std::chrono::seconds(30))), 0);
  EXPECT_EQ(Get(client_.InspectContainer(name))->status, "exited");
  const auto listed = Get(client_.ListContainers({"fetchbench.test=" + name}));
  ASSERT_EQ(listed->size(), 1);
  EXPECT_EQ(listed->front().name, name);
  EXPECT_TRUE(Get(client_.RemoveContainer(name)).ok());
  EXPECT_TRUE(Get(client_.RemoveContainer(name)).ok());  // there is none any more
  EXPECT_TRUE(absl::IsNotFound(Get(client_.InspectContainer(name)).status()));
}

TEST_F(EngineClientTest, ARunningContainerIsWaitedForKilledAndRemoved) {
  const std::string name = Name("kill");
  const json::object config = {{"Image", Build()},
                               {"OpenStdin", true},
                               {"Env", json::array{"USER_AGENT=ignore-term"}},
                               {"HostConfig", json::object{{"NetworkMode", "none"}}}};
  const auto id = Get(client_.CreateContainer(name, config));
  ASSERT_TRUE(id.ok()) << id.status();
  ASSERT_TRUE(Get(client_.StartContainer(*id)).ok());
  const auto waited = Get(client_.WaitContainer(*id, std::chrono::milliseconds(200)));
  EXPECT_TRUE(absl::IsDeadlineExceeded(waited.status())) << waited.status();
  EXPECT_TRUE(Get(client_.Stats(*id)).ok());
  EXPECT_TRUE(Get(client_.KillContainer(*id, "SIGKILL")).ok());
  EXPECT_EQ(*Get(client_.WaitContainer(*id, std::chrono::seconds(30))), 137);
  EXPECT_FALSE(Get(client_.KillContainer(*id, "SIGKILL")).ok());
  EXPECT_TRUE(Get(client_.RemoveContainer(*id)).ok());
}

TEST_F(EngineClientTest, NetworksComeAndGo) {
  const std::string name = Name("net");
  const auto id = Get(client_.CreateNetwork(
      name, {{"Internal", true}, {"Labels", json::object{{"fetchbench.test", name}}}}));
  ASSERT_TRUE(id.ok()) << id.status();
  const auto network = Get(client_.InspectNetwork(name));
  ASSERT_TRUE(network.ok()) << network.status();
  EXPECT_THAT(network->subnet, HasSubstr("/"));
  EXPECT_EQ(Get(client_.ListNetworks({"fetchbench.test=" + name}))->size(), 1);
  EXPECT_TRUE(Get(client_.RemoveNetwork(name)).ok());
  EXPECT_TRUE(Get(client_.RemoveNetwork(name)).ok());
}

// Soon; a removal that somebody else has begun takes a moment.
bool Gone(const std::function<absl::Status()>& look) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!absl::IsNotFound(look())) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

TEST_F(EngineClientTest, WhatDeadOwnersLeftIsRemovedAndTheRestStays) {
  Owner dead = ThisProcess();
  dead.start_ticks -= 1;
  const std::string image = Build();
  const auto make = [&](const std::string& name, const std::string& owner) {
    const json::object labels = {{std::string(kOwnerLabel), owner}};
    EXPECT_TRUE(Get(client_.CreateContainer(name, {{"Image", image}, {"Labels", labels}})).ok());
    EXPECT_TRUE(Get(client_.CreateNetwork(name, {{"Labels", labels}})).ok());
  };
  make(Name("dead"), dead.Text());
  make(Name("alive"), ThisProcess().Text());
  const auto removed = Get(RemoveLeftovers(client_));
  ASSERT_TRUE(removed.ok()) << removed.status();
  // Agents and coordinators of other tests sweep as well when they start: gone is gone, whoever it
  // was.
  EXPECT_TRUE(Gone([&] { return Get(client_.InspectContainer(Name("dead"))).status(); }));
  EXPECT_TRUE(Gone([&] { return Get(client_.InspectNetwork(Name("dead"))).status(); }));
  EXPECT_TRUE(Get(client_.InspectContainer(Name("alive"))).ok());
  EXPECT_TRUE(Get(client_.InspectNetwork(Name("alive"))).ok());
  EXPECT_TRUE(Get(client_.RemoveContainer(Name("alive"))).ok());
  EXPECT_TRUE(Get(client_.RemoveNetwork(Name("alive"))).ok());
}

}  // namespace
}  // namespace fetchbench::docker
