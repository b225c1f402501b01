#include "common/docker/stream_demux.h"

#include <gtest/gtest.h>

#include <string>

namespace fetchbench::docker {
namespace {

using Stream = StreamDemux::Stream;

std::string Frame(Stream stream, const std::string& content) {
  const auto size = static_cast<uint32_t>(content.size());
  std::string head(8, '\0');
  head[0] = static_cast<char>(stream);
  for (int i = 0; i < 4; ++i) head[4 + i] = static_cast<char>(size >> (24 - 8 * i) & 0xff);
  return head + content;
}

struct Taken {
  std::string out;
  std::string err;
  void operator()(Stream stream, std::string_view bytes) {
    (stream == Stream::kStderr ? err : out) += bytes;
  }
};

TEST(StreamDemuxTest, FramesComeApartHoweverTheyAreCut) {
  const std::string wire = Frame(Stream::kStdout, "first") + Frame(Stream::kStderr, "oh") +
                           Frame(Stream::kStdout, "") +
                           Frame(Stream::kStdout, std::string(70'000, 'x'));
  for (const size_t step : {size_t{1}, size_t{3}, size_t{8}, size_t{4'096}, wire.size()}) {
    StreamDemux demux;
    Taken taken;
    for (size_t at = 0; at < wire.size(); at += step) {
      EXPECT_TRUE(demux.Feed(std::string_view(wire).substr(at, step), std::ref(taken)));
    }
    EXPECT_EQ(taken.out, "first" + std::string(70'000, 'x')) << step;
    EXPECT_EQ(taken.err, "oh") << step;
    EXPECT_TRUE(demux.at_boundary()) << step;
  }
}

TEST(StreamDemuxTest, WhatIsNoHeadEndsIt) {
  StreamDemux demux;
  Taken taken;
  EXPECT_FALSE(demux.Feed("HTTP/1.1 500 oh no", std::ref(taken)));
  EXPECT_FALSE(demux.Feed(Frame(Stream::kStdout, "late"), std::ref(taken)));
  EXPECT_EQ(taken.out, "");
}

TEST(StreamDemuxTest, ASizeOfGigabytesTakesNoMemory) {
  StreamDemux demux;
  Taken taken;
  EXPECT_TRUE(demux.Feed(std::string("\x01\0\0\0\xff\xff\xff\xff", 8) + "abc", std::ref(taken)));
  EXPECT_EQ(taken.out, "abc");
  EXPECT_FALSE(demux.at_boundary());
}

}  // namespace
}  // namespace fetchbench::docker
