#include "agent/native/address_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/network_v4.hpp>
#include <cstdio>
#include <regex>
#include <string>
#include <vector>

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
                           "100::1",
                           "100:0:0:1::1",
                           "5f00::1",
                           "2001:1::1",
                           "2001:2::1",
                           "2001:20::1",
                           "2001:1ff:ffff::1",
                           "3fff:fff:ffff::1",
                           "fd20:ce::254",
                           "::ffff:0:10.0.0.1",
                           "64:ff9b::100.100.100.200",
                           "64:ff9b::168.63.129.16",
                           "2002:a9fe:a9fe::a9fe:a9fe",
                           "2a00:1450::5efe:10.0.0.1",
                           "2a00:1450::200:5efe:169.254.169.254"}) {
    EXPECT_FALSE(Public(text)) << text;
  }
}

TEST(AddressPolicyTest, PublicIpv6IsPublic) {
  for (const char* text :
       {"2606:4700:4700::1111", "2a00:1450::1", "2001:4860:4860::8888", "::ffff:1.1.1.1",
        "64:ff9b::101:101", "2002:101:101::1", "2001:200::1", "2001:db7::1", "2001:db9::1",
        "3fff:1000::1", "2620:4f:8000::1", "2a00:1450::5efe:1.1.1.1"}) {
    EXPECT_TRUE(Public(text)) << text;
  }
}

namespace ip = boost::asio::ip;

TEST(AddressPolicyTest, WhatIsTheHostsOwnIsNotAllowed) {
  const PublicOnly policy({ip::make_address("11.22.33.44"), ip::make_address("2a00:1450::7")});
  for (const char* text :
       {"11.22.33.44", "2a00:1450::7", "2a00:1450::7%3", "::ffff:11.22.33.44",
        "64:ff9b::11.22.33.44", "2002:b16:212c::1", "2a00:1450::5efe:11.22.33.44", "10.0.0.1"}) {
    EXPECT_FALSE(policy.Allows(ip::make_address(text))) << text;
  }
  for (const char* text :
       {"11.22.33.45", "2a00:1450::8", "::ffff:11.22.33.45", "2002:b16:212d::1"}) {
    EXPECT_TRUE(policy.Allows(ip::make_address(text))) << text;
  }
}

// The ranges in the rules that deploy/guard/fetchbench-guard would set.
std::vector<ip::network_v4> RangesOfTheGuard() {
  FILE* pipe = popen(FETCHBENCH_SOURCE "/deploy/guard/fetchbench-guard print", "r");
  if (pipe == nullptr) return {};
  std::string text;
  std::array<char, 4096> piece{};
  for (size_t n = 0; (n = fread(piece.data(), 1, piece.size(), pipe)) > 0;) {
    text.append(piece.data(), n);
  }
  pclose(pipe);
  std::vector<ip::network_v4> ranges;
  const std::regex range("[0-9.]+/[0-9]+");
  for (std::sregex_iterator it(text.begin(), text.end(), range), end; it != end; ++it) {
    ranges.push_back(ip::make_network_v4(it->str()));
  }
  return ranges;
}

TEST(AddressPolicyTest, ContainersAreKeptFromTheSameAddresses) {
  const std::vector<ip::network_v4> ranges = RangesOfTheGuard();
  ASSERT_FALSE(ranges.empty());
  const auto refused = [&ranges](uint32_t address) {
    return std::any_of(ranges.begin(), ranges.end(), [address](const ip::network_v4& range) {
      return (address & range.netmask().to_uint()) == range.network().to_uint();
    });
  };
  const auto compare = [&refused](uint32_t address) {
    const ip::address_v4 v4(address);
    EXPECT_EQ(refused(address), !IsPublicAddress(v4)) << v4.to_string();
  };
  for (uint32_t i = 0; i < 1 << 16; ++i) compare(i << 16 | 7);
  // 192.0.x.0 and its likes, whose ranges are small.
  for (const char* base : {"192.0.0.7", "192.88.0.7", "198.51.0.7", "203.0.0.7", "168.63.0.7"}) {
    const uint32_t first = ip::make_address_v4(base).to_uint();
    for (uint32_t i = 0; i < 256; ++i) compare(first + (i << 8));
  }
  for (const ip::network_v4& range : ranges) {
    const uint32_t first = range.network().to_uint();
    const uint32_t last = range.broadcast().to_uint();
    for (const uint32_t address : {first - 1, first, last, last + 1}) compare(address);
  }
}

}  // namespace
}  // namespace fetchbench::native
