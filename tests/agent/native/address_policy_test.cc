#include "agent/native/address_policy.h"

#include <gtest/gtest.h>

namespace fetchbench::native {
namespace {

bool Public(const char* text) { return IsPublicAddress(boost::asio::ip::make_address(text)); }

TEST(AddressPolicyTest, ReservedIpv4IsNotPublic) {
  for (const char* text :
       {"0.0.0.0",         "0.1.2.3",         "10.0.0.1",        "10.255.255.255",
        "100.64.0.1",      "100.100.100.200", "100.127.255.255", "127.0.0.1",
        "127.64.0.1",      "168.63.129.16",   "169.254.169.254", "172.16.0.1",
        "172.31.255.255",  "192.0.0.192",     "192.0.2.1",       "192.88.99.1",
        "192.168.255.255", "198.18.0.1",      "198.19.255.255",  "198.51.100.1",
        "203.0.113.1",     "224.0.0.1",       "239.255.255.255", "240.0.0.1",
        "255.255.255.255"}) {
    EXPECT_FALSE(Public(text)) << text;
  }
}

TEST(AddressPolicyTest, NeighboursOfReservedRangesArePublic) {
  for (const char* text :
       {"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.0", "168.63.129.15", "168.63.129.17", "169.253.255.255", "169.255.0.0",
        "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "198.17.255.255",
        "198.20.0.0", "223.255.255.255"}) {
    EXPECT_TRUE(Public(text)) << text;
  }
}

TEST(AddressPolicyTest, ReservedIpv6IsNotPublic) {
  for (const char* text : {"::",
                           "::1",
                           "fe80::1",
                           "fc00::1",
                           "fd00:ec2::254",
                           "fec0::1",
                           "ff02::1",
                           "2001:db8::1",
                           "2001::1",
                           "2001:10::1",
                           "3fff::1",
                           "::ffff:127.0.0.1",
                           "::ffff:10.0.0.1",
                           "::ffff:169.254.169.254",
                           "64:ff9b::7f00:1",
                           "64:ff9b::a9fe:a9fe",
                           "64:ff9b:1::1",
                           "2002:7f00:1::",
                           "2002:a00:1::1",
                           "::127.0.0.1",
                           "100::1"}) {
    EXPECT_FALSE(Public(text)) << text;
  }
}

TEST(AddressPolicyTest, PublicIpv6IsPublic) {
  for (const char* text : {"2606:4700:4700::1111", "2a00:1450::1", "2001:4860:4860::8888",
                           "::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::1"}) {
    EXPECT_TRUE(Public(text)) << text;
  }
}

}  // namespace
}  // namespace fetchbench::native
