#pragma once

// The whole daemon in the test's process: real gRPC over a Unix socket or TCP, real children (the
// scripted target).

#include "agent/server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/grpc_options.h"
#include "tests/support/agent_client.h"

namespace fetchbench::agent {

inline std::string MakeFolder() {
  std::string name = std::filesystem::temp_directory_path() / "fetchbench-agent-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) std::abort();
  return name;
}

class AgentServerTest : public ::testing::Test {
 protected:
  AgentServerTest() {
    signal(SIGPIPE, SIG_IGN);
    config_.version = "1.2.3";
    const std::filesystem::path bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    config_.native_path = bin / "fetchbench-scripted-target";
    config_.entry_path = bin / "fetchbench-entry";
    config_.start_patience = std::chrono::milliseconds(500);
    config_.host.set_hostname("here");
  }
  ~AgentServerTest() override {
    stub_.reset();
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Serve(const std::string& listen) {
    auto server = AgentServer::Start(config_, listen);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = std::move(*server);
    stub_ = MakeStub();
  }
  void Serve() { Serve("unix:" + folder_ + "/agent.sock"); }

  std::unique_ptr<v1::Agent::Stub> MakeStub() const {
    return v1::Agent::NewStub(grpc::CreateCustomChannel(
        server_->address(), grpc::InsecureChannelCredentials(), ClientChannelArguments()));
  }

  // One run from Start to its end.
  test::RunResult Run(const v1::Start& start, const std::vector<std::string>& urls) {
    test::RunStream stream(*stub_, start);
    return test::Drive(stream, urls);
  }
  test::RunResult Run(const std::string& script, size_t urls) {
    return Run(test::MakeStart("r", script), test::MakeUrls(urls));
  }

  v1::DescribeResponse Describe() {
    grpc::ClientContext context;
    v1::DescribeResponse response;
    EXPECT_TRUE(stub_->Describe(&context, {}, &response).ok());
    return response;
  }

  void WaitUntilFree() {
    for (int i = 0; i < 1'000 && !Describe().busy_run_id().empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_EQ(Describe().busy_run_id(), "");
  }

  // A shell script to stand in for a target's program.
  std::string Script(const std::string& name, const std::string& commands) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << commands << "\n";
    chmod(path.c_str(), 0700);
    return path;
  }

  static size_t Count(const test::RunResult& result, Outcome outcome) {
    size_t n = 0;
    for (const auto& [index, record] : result.records) n += record.outcome == outcome ? 1 : 0;
    return n;
  }

  const std::string folder_ = MakeFolder();
  AgentConfig config_;
  std::unique_ptr<AgentServer> server_;
  std::unique_ptr<v1::Agent::Stub> stub_;
};

}  // namespace fetchbench::agent
