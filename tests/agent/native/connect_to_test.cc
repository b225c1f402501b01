#include "agent/native/connect_to.h"

#include <gtest/gtest.h>

namespace fetchbench::native {
namespace {

ConnectTo Rules(std::initializer_list<const char*> texts) {
  ConnectTo rules;
  for (const char* text : texts) EXPECT_TRUE(rules.Add(text).ok()) << text;
  return rules;
}

TEST(ConnectToTest, EmptyPartsMatchAllAndLeaveAsIs) {
  const ConnectTo rules = Rules({":80::8080", "a.test:443:127.0.0.1:", "::[::1]:9"});
  EXPECT_EQ(rules.Apply("a.test", 80), (HostPort{"a.test", 8080}));
  EXPECT_EQ(rules.Apply("a.test", 443), (HostPort{"127.0.0.1", 443}));
  EXPECT_EQ(rules.Apply("b.test", 443), (HostPort{"::1", 9}));
}

TEST(ConnectToTest, Ipv6SourcesStandInBrackets) {
  EXPECT_EQ(Rules({"[::1]:80:[::2]:81"}).Apply("::1", 80), (HostPort{"::2", 81}));
}

TEST(ConnectToTest, WithoutRulesNothingChanges) {
  EXPECT_EQ(ConnectTo().Apply("a.test", 80), (HostPort{"a.test", 80}));
}

TEST(ConnectToTest, MalformedRulesAreRefused) {
  ConnectTo rules;
  for (const char* text :
       {"", "a", "a:80", "a:80:b", "a:80:b:81:c", "a:x:b:81", "a:80:b:99999", "[::1:80:b:81"}) {
    EXPECT_FALSE(rules.Add(text).ok()) << text;
  }
}

TEST(AddressPortTest, PortIsOptional) {
  EXPECT_EQ(*ParseAddressPort("192.0.2.1", 53), (HostPort{"192.0.2.1", 53}));
  EXPECT_EQ(*ParseAddressPort("192.0.2.1:5353", 53), (HostPort{"192.0.2.1", 5353}));
  EXPECT_EQ(*ParseAddressPort("[::1]:5353", 53), (HostPort{"::1", 5353}));
  EXPECT_EQ(*ParseAddressPort("::1", 53), (HostPort{"::1", 53}));
  EXPECT_FALSE(ParseAddressPort("dns.test:53", 53).ok());
  EXPECT_FALSE(ParseAddressPort("192.0.2.1:x", 53).ok());
}

}  // namespace
}  // namespace fetchbench::native
