#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "common/docker/engine_client.h"
#include "common/docker/owner.h"
#include "common/docker/sha256.h"
#include "common/io_thread.h"
#include "tests/agent/agent_server_fixture.h"
#include "tests/support/container_image.h"
#include "tests/support/run_task.h"

namespace fetchbench::agent {

// What came of one Prepare call.
struct Prepared {
  grpc::Status status;
  std::vector<std::string> messages;
  bool context_asked = false;
  std::optional<v1::TargetFacts> facts;
};

// Sends a target's folder in pieces, as a coordinator does.
inline Prepared Prepare(v1::Agent::Stub& stub, const v1::TargetSpec& target,
                        const std::string& context, uint64_t announced,
                        std::chrono::seconds patience = std::chrono::minutes(2)) {
  Prepared result;
  grpc::ClientContext call;
  call.set_deadline(std::chrono::system_clock::now() + patience);
  auto stream = stub.Prepare(&call);
  v1::PrepareRequest request;
  *request.mutable_start()->mutable_target() = target;
  request.mutable_start()->set_context_bytes(announced);
  stream->Write(request);
  v1::PrepareProgress progress;
  while (stream->Read(&progress)) {
    result.messages.push_back(progress.message());
    if (progress.ready()) result.facts = progress.facts();
    if (!progress.send_context()) continue;
    result.context_asked = true;
    constexpr size_t kPiece = 256 << 10;
    for (size_t at = 0; at < context.size(); at += kPiece) {
      v1::PrepareRequest piece;
      piece.set_context(context.substr(at, kPiece));
      stream->Write(piece);
    }
    stream->WritesDone();
  }
  result.status = stream->Finish();
  return result;
}

// The daemon in the test's process, with a real Engine.
class ContainerTest : public AgentServerTest {
 protected:
  void SetUp() override {
    if (test::EngineSocket().empty()) GTEST_SKIP() << test::kNoEngine;
    config_.docker_socket = test::EngineSocket();
    Serve();
  }

  static v1::TargetSpec Spec(const std::string& context) {
    v1::TargetSpec target;
    target.set_name("test/scripted");
    target.set_context_sha256(docker::Sha256Hex(context));
    return target;
  }
  Prepared PrepareTarget(const std::string& context) {
    return Prepare(*stub_, Spec(context), context, context.size());
  }

  // A start of the scripted target, its image built.
  v1::Start ContainerStart(const std::string& script) {
    const std::string context = test::TargetContext(test::kTargetDockerfile);
    const Prepared prepared = PrepareTarget(context);
    EXPECT_TRUE(prepared.status.ok()) << prepared.status.error_message();
    v1::Start start = test::MakeStart(script.empty() ? "r" : script, script);
    *start.mutable_target() = Spec(context);
    start.mutable_container()->set_network_mode("none");
    return start;
  }
  test::RunResult RunContainer(const std::string& script, size_t urls) {
    return Run(ContainerStart(script), test::MakeUrls(urls));
  }

  template <typename T>
  T Get(Task<T> task) {
    return test::RunOn(loop_, std::move(task)).get();
  }
  std::vector<docker::ContainerSummary> OwnContainers() {
    const std::string label = std::string(docker::kOwnerLabel) + "=" + docker::ThisProcess().Text();
    const auto list = Get(client_.ListContainers({label}));
    EXPECT_TRUE(list.ok()) << list.status();
    return list.ok() ? *list : std::vector<docker::ContainerSummary>();
  }
  // Removal may go on in the background.
  void ExpectNothingLeft() {
    for (int i = 0; i < 500 && !OwnContainers().empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_TRUE(OwnContainers().empty());
  }

  IoThread loop_{"docker-test"};
  docker::EngineClient client_{loop_.executor(), test::EngineSocket()};
};

}  // namespace fetchbench::agent
