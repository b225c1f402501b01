// What an agent that any local user can reach refuses.

#include "tests/agent/agent_server_fixture.h"

namespace fetchbench::agent {
namespace {

using ::testing::HasSubstr;

class AgentLoopbackTest : public AgentServerTest {
 protected:
  static v1::TargetSpec Container() {
    v1::TargetSpec target;
    target.set_name("go/net-http");
    target.set_image("busybox");
    return target;
  }

  grpc::Status Prepare(const v1::TargetSpec& target) {
    grpc::ClientContext context;
    const auto stream = stub_->Prepare(&context);
    v1::PrepareRequest request;
    *request.mutable_start()->mutable_target() = target;
    stream->Write(request);
    stream->WritesDone();
    for (v1::PrepareProgress progress; stream->Read(&progress);) {
    }
    return stream->Finish();
  }

  grpc::Status Execute(const v1::TargetSpec& target) {
    v1::Start start = test::MakeStart("r");
    *start.mutable_target() = target;
    test::RunStream stream(*stub_, start);
    return stream.End();
  }
};

TEST_F(AgentLoopbackTest, ContainersAreRefusedAndItSaysWhy) {
  Serve("127.0.0.1:0");
  for (const grpc::Status& status : {Prepare(Container()), Execute(Container())}) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_THAT(status.error_message(),
                AllOf(HasSubstr("'go/net-http' is not run here"), HasSubstr("become root"),
                      HasSubstr("unix:PATH"), HasSubstr("bin/pki host NAME")));
  }
}

TEST_F(AgentLoopbackTest, NativeIsRunAsEver) {
  Serve("127.0.0.1:0");
  EXPECT_EQ(Run(test::MakeStart("r"), test::MakeUrls(20)).records.size(), 20u);
}

TEST_F(AgentLoopbackTest, OnAUnixSocketContainersAreNotRefusedForIt) {
  Serve();
  // There is no Engine in this agent's configuration, and that is all it says.
  for (const grpc::Status& status : {Prepare(Container()), Execute(Container())}) {
    EXPECT_NE(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << status.error_message();
  }
}

}  // namespace
}  // namespace fetchbench::agent
