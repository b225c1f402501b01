#include "origin/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fetchbench::origin {
namespace {

using ::testing::HasSubstr;

TEST(OptionsTest, AddressesAreCountedUpFromTheFirst) {
  Options options;
  options.addresses = 300;
  const auto book = MakeAddressBook(options);
  ASSERT_TRUE(book.ok()) << book.status();
  EXPECT_EQ(book->serving.size(), 300u);
  EXPECT_EQ(book->serving.front(), 0x7f400001u);
  EXPECT_EQ(book->serving.back(), 0x7f40012cu);
}

TEST(OptionsTest, ListenAddressesReplaceThem) {
  Options options;
  options.listen = {"10.0.0.1", "10.0.0.2"};
  const auto book = MakeAddressBook(options);
  ASSERT_TRUE(book.ok()) << book.status();
  EXPECT_EQ(book->serving.size(), 2u);
  EXPECT_EQ(book->refusing.size(), 1u);
}

TEST(OptionsTest, WhatOtherMachinesCannotReachIsSaid) {
  Options options;
  EXPECT_EQ(ReachWarning(*MakeAddressBook(options)), "");
  options.listen = {"10.0.0.1"};
  EXPECT_THAT(ReachWarning(*MakeAddressBook(options)),
              HasSubstr("--refusing-address and --black-hole-address"));
  options.refusing_address = "10.0.0.2";
  EXPECT_THAT(ReachWarning(*MakeAddressBook(options)), HasSubstr("with --black-hole-address"));
  options.black_hole_address = "10.0.0.3";
  EXPECT_EQ(ReachWarning(*MakeAddressBook(options)), "");
}

TEST(OptionsTest, WrongAddressesNameTheirOption) {
  Options options;
  options.first_address = "localhost";
  EXPECT_THAT(std::string(MakeAddressBook(options).status().message()),
              HasSubstr("--first-address: 'localhost'"));
  options = {};
  options.first_address = "255.255.255.0";
  EXPECT_FALSE(MakeAddressBook(options).ok());
}

TEST(OptionsTest, TooManyDescriptorsSayWhatToLower) {
  constexpr uint64_t kMoreThanAnyLimit = uint64_t{1} << 40;
  EXPECT_TRUE(RaiseDescriptorLimit(10).ok());
  const absl::Status status = RaiseDescriptorLimit(kMoreThanAnyLimit);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("--max-connections"));
}

TEST(OptionsTest, HostAndPortAreReadTogether) {
  const auto place = ParseHostPort("127.0.0.1:8080");
  ASSERT_TRUE(place.ok());
  EXPECT_EQ(place->address, 0x7f000001u);
  EXPECT_EQ(place->port, 8080);
  for (const char* text : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", ":1"}) {
    EXPECT_FALSE(ParseHostPort(text).ok()) << text;
  }
}

}  // namespace
}  // namespace fetchbench::origin
