#include "common/loopback.h"

#include <gtest/gtest.h>

namespace fetchbench {
namespace {

TEST(LoopbackTest, IsWhatNoNameServerCanMakeAnotherHost) {
  for (const char* address : {"127.0.0.1:7311", "127.9.8.7:1", "localhost:7311", "[::1]:7311",
                              "unix:/run/agent.sock", "unix:relative"}) {
    EXPECT_TRUE(StaysOnThisMachine(address)) << address;
  }
  for (const char* address :
       {"0.0.0.0:7311", "[::]:7311", "10.0.0.5:7311", "127.example.com:7311", "127.1:7311",
        "localhost.example.com:7311", ":7311", "*:7311", "[::ffff:127.0.0.1]:7311", "h1:7311"}) {
    EXPECT_FALSE(StaysOnThisMachine(address)) << address;
  }
}

}  // namespace
}  // namespace fetchbench
