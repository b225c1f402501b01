#include "common/grpc_options.h"

#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

namespace fetchbench {
namespace {

// Shutting down would make the thread that drops the last channel wait, at times for ten seconds.
TEST(GrpcOptionsTest, TheLibraryStaysUpWhenTheLastChannelGoes) {
  grpc::CreateCustomChannel("unix:/nobody", grpc::InsecureChannelCredentials(),
                            ClientChannelArguments())
      .reset();
  EXPECT_NE(grpc_is_initialized(), 0);
}

}  // namespace
}  // namespace fetchbench
