#include "origin/body.h"

#include <gtest/gtest.h>

#include <charconv>

namespace fetchbench::origin {
namespace {

std::string Expected(uint64_t size) {
  std::string body;
  while (body.size() < size) body += Pattern().substr(0, size - body.size());
  return body;
}

// Takes chunked coding apart; empty text on any fault.
std::string Unchunk(std::string_view wire) {
  std::string body;
  for (;;) {
    size_t size = 0;
    const auto [end, error] = std::from_chars(wire.data(), wire.data() + wire.size(), size, 16);
    if (error != std::errc()) return "";
    wire.remove_prefix(static_cast<size_t>(end - wire.data()));
    if (!wire.starts_with("\r\n") || wire.size() < size + 4) return "";
    body += wire.substr(2, size);
    wire.remove_prefix(2 + size);
    if (!wire.starts_with("\r\n")) return "";
    wire.remove_prefix(2);
    if (size == 0) return wire.empty() ? body : "";
  }
}

TEST(BodyTest, PlainBodiesAreThePatternWhateverTheSlices) {
  for (const uint64_t size : {1, 1'024, 65'536, 65'537, 300'000}) {
    for (const size_t slice : {size_t{999}, kPatternSize}) {
      PlainBody body(size);
      std::string all;
      while (!body.done()) all += body.Next(slice);
      EXPECT_EQ(all, Expected(size));
    }
  }
}

TEST(BodyTest, ChunkedBodiesCarryTheSameBytes) {
  for (const uint64_t size : {1, 16'384, 16'385, 65'536, 65'537, 300'000}) {
    for (const size_t slice : {size_t{999}, size_t{20'000}, kPatternSize}) {
      ChunkedBody body(size);
      std::string all;
      while (!body.done()) all += body.Next(slice);
      EXPECT_EQ(Unchunk(all), Expected(size)) << size << " in " << slice;
    }
  }
  ChunkedBody empty(0);
  EXPECT_EQ(empty.Next(1), "0\r\n\r\n");
  EXPECT_TRUE(empty.done());
}

TEST(BodyTest, ThePatternIsFixed) {
  EXPECT_EQ(Pattern().size(), kPatternSize);
  EXPECT_TRUE(Pattern().starts_with("<p>0000 fetchbench origin "));
  EXPECT_EQ(Pattern()[63], '\n');
}

}  // namespace
}  // namespace fetchbench::origin
