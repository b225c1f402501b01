#include "agent/instance_id.h"

#include <gtest/gtest.h>

namespace fetchbench::agent {
namespace {

TEST(InstanceIdTest, Has128BitsInHex) {
  uint32_t next = 0xfffffffe;
  EXPECT_EQ(MakeInstanceId([&next] { return next++; }), "fffffffeffffffff0000000000000001");
}

}  // namespace
}  // namespace fetchbench::agent
