// The services that tools ask beside ours: health and reflection, in their bytes on the wire.

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "tests/agent/agent_server_fixture.h"

namespace fetchbench::agent {
namespace {

using ::testing::HasSubstr;

class AgentServicesTest : public AgentServerTest {
 protected:
  // Sends one message to a method and takes one answer, as bytes; empty: there was none.
  std::string Ask(const std::string& method, const std::string& message) {
    grpc::GenericStub stub(grpc::CreateCustomChannel(
        server_->address(), grpc::InsecureChannelCredentials(), ClientChannelArguments()));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    grpc::CompletionQueue queue;
    const auto call = stub.PrepareCall(&context, method, &queue);
    const auto done = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    const grpc::Slice slice(message);
    grpc::ByteBuffer answer;
    call->StartCall(&call_tag_);
    EXPECT_TRUE(done());
    call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), &call_tag_);
    EXPECT_TRUE(done());
    call->Read(&answer, &call_tag_);
    const bool read = done();
    grpc::Status status;
    call->Finish(&status, &call_tag_);
    EXPECT_TRUE(done());
    EXPECT_TRUE(status.ok()) << status.error_message();
    grpc::Slice bytes;
    if (!read || !answer.DumpToSingleSlice(&bytes).ok()) return "";
    return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
  }

 private:
  int call_tag_ = 0;
};

TEST_F(AgentServicesTest, HealthSaysServing) {
  Serve();
  // HealthCheckRequest{} -> HealthCheckResponse{status: SERVING}
  EXPECT_EQ(Ask("/grpc.health.v1.Health/Check", ""), "\x08\x01");
}

TEST_F(AgentServicesTest, ReflectionListsTheAgentService) {
  Serve();
  // ServerReflectionRequest{list_services: ""}
  const std::string listed = Ask("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                                 std::string("\x3a\x00", 2));
  EXPECT_THAT(listed, HasSubstr("fetchbench.v1.Agent"));
}

}  // namespace
}  // namespace fetchbench::agent
