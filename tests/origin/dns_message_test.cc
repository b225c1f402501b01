#include "origin/dns_message.h"

#include <gtest/gtest.h>

#include <random>

namespace fetchbench::origin {
namespace {

std::vector<uint8_t> Query(std::string_view labels, uint16_t type = kTypeA) {
  std::vector<uint8_t> m = {0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0};
  while (!labels.empty()) {
    const size_t dot = std::min(labels.find('.'), labels.size());
    m.push_back(static_cast<uint8_t>(dot));
    m.insert(m.end(), labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(dot));
    labels.remove_prefix(std::min(dot + 1, labels.size()));
  }
  for (const int b : {0, type >> 8, type & 0xff, 0, 1}) m.push_back(static_cast<uint8_t>(b));
  return m;
}

QueryCheck Check(const std::vector<uint8_t>& message) {
  DnsQuery query;
  return ParseQuery(message, query);
}

TEST(DnsMessageTest, ReadsAQuestionAndEchoesItsLetterCase) {
  DnsQuery query;
  ASSERT_EQ(ParseQuery(Query("WwW.Example.COM"), query), QueryCheck::kOk);
  EXPECT_EQ(query.id, 0x1234);
  EXPECT_TRUE(query.recursion_desired);
  EXPECT_EQ(query.name, "www.example.com");
  EXPECT_EQ(query.type, kTypeA);
  EXPECT_NE(query.question.find("WwW"), std::string::npos);
}

TEST(DnsMessageTest, EncodesAddresses) {
  DnsQuery query;
  ParseQuery(Query("a.b"), query);
  const std::string reply = EncodeReply(query, {.addresses = {0x7f400001}, .ttl_s = 300});
  const std::string expected(
      "\x12\x34\x85\x80\0\1\0\1\0\0\0\0"
      "\1a\1b\0\0\1\0\1"
      "\xc0\x0c\0\1\0\1\0\0\1\x2c\0\4\x7f\x40\0\1",
      12 + 9 + 16);
  EXPECT_EQ(reply, expected);
}

TEST(DnsMessageTest, EncodesAliasesThatPointBack) {
  DnsQuery query;
  ParseQuery(Query("a.b"), query);
  const std::string reply =
      EncodeReply(query, {.addresses = {0x7f400001}, .ttl_s = 1, .through_cname = true});
  EXPECT_EQ(reply[7], 2);
  EXPECT_NE(reply.find(std::string("\5cname\xc0\x0c", 8)), std::string::npos);
}

TEST(DnsMessageTest, TruncatedRepliesHaveNoAnswers) {
  DnsQuery query;
  ParseQuery(Query("a.b"), query);
  const std::string reply = EncodeReply(query, {.addresses = {1, 2}, .truncated = true});
  EXPECT_EQ(reply.size(), 12u + 9u);
  EXPECT_EQ(reply[7], 0);
  EXPECT_NE(reply[2] & 0x02, 0);
}

TEST(DnsMessageTest, MalformedQueriesAreToldApart) {
  EXPECT_EQ(Check({}), QueryCheck::kDrop);
  EXPECT_EQ(Check({1, 2, 3}), QueryCheck::kDrop);
  auto reply = Query("a.test");
  reply[2] |= 0x80;
  EXPECT_EQ(Check(reply), QueryCheck::kDrop);
  auto update = Query("a.test");
  update[2] = 0x28;
  EXPECT_EQ(Check(update), QueryCheck::kNotImplemented);
  auto two = Query("a.test");
  two[5] = 2;
  EXPECT_EQ(Check(two), QueryCheck::kFormatError);
  auto pointer = Query("a.test");
  pointer[12] = 0xc0;
  EXPECT_EQ(Check(pointer), QueryCheck::kFormatError);
  auto cut = Query("a.test");
  cut.resize(cut.size() - 1);
  EXPECT_EQ(Check(cut), QueryCheck::kFormatError);
  std::string long_name;
  for (int i = 0; i < 30; ++i) long_name += "abcdefghij.";
  long_name += "x";
  EXPECT_EQ(Check(Query(long_name)), QueryCheck::kFormatError);
}

TEST(DnsMessageTest, RandomBytesNeverBreakIt) {
  std::mt19937 random(1);
  for (int i = 0; i < 200'000; ++i) {
    std::vector<uint8_t> message = Query("host.example.test");
    if (i % 3 == 0) message.resize(random() % 80);
    const int changes = i % 3 == 0 ? static_cast<int>(message.size()) : 1 + i % 5;
    for (int k = 0; k < changes && !message.empty(); ++k) {
      message[random() % message.size()] = static_cast<uint8_t>(random());
    }
    DnsQuery query;
    if (ParseQuery(message, query) == QueryCheck::kDrop) continue;
    ASSERT_LE(query.name.size(), 254u);
    const std::string reply =
        EncodeReply(query, {.addresses = {1}, .through_cname = i % 2 == 0, .cut = i % 7 == 0});
    ASSERT_GE(reply.size(), 12u);
    ASSERT_LE(reply.size(), 512u);
  }
}

}  // namespace
}  // namespace fetchbench::origin
