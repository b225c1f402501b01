#include "coordinator/input/crc32c.h"

#include <gtest/gtest.h>

#include <boost/crc.hpp>
#include <string>

namespace fetchbench::coordinator {
namespace {

TEST(Crc32cTest, IsThatOfTheRfc) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(Crc32cTest, IsThatOfAnotherImplementationAtEveryLength) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> other;
    other.process_bytes(text.data(), text.size());
    EXPECT_EQ(Crc32c(text), other.checksum()) << text.size();
    text.push_back(static_cast<char>(i * 37 + 200));
  }
}

}  // namespace
}  // namespace fetchbench::coordinator
