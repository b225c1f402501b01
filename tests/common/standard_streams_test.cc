#include "common/standard_streams.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

namespace fetchbench {
namespace {

constexpr int kPipeBytes = 4096;
constexpr int kSetPipeSize = 1031;  // F_SETPIPE_SZ

TEST(WriteTextTest, ADescriptorThatDoesNotBlockGetsAllOfIt) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  fcntl(ends[1], kSetPipeSize, kPipeBytes);
  const std::string text(100'000, 'x');
  std::string read_text;
  std::thread reader([&] {
    std::array<char, 1000> part{};
    for (ssize_t n = 0; (n = read(ends[0], part.data(), part.size())) > 0;) {
      read_text.append(part.data(), static_cast<size_t>(n));
    }
  });
  EXPECT_TRUE(WriteText(ends[1], text).ok());
  close(ends[1]);
  reader.join();
  close(ends[0]);
  EXPECT_EQ(read_text, text);
}

TEST(WriteTextTest, AReaderThatHadEnoughIsNoErrorAndAFullDiskIs) {
  signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  close(ends[0]);
  EXPECT_TRUE(WriteText(ends[1], "text").ok());
  EXPECT_TRUE(absl::IsCancelled(WriteToReader(ends[1], "text")));
  close(ends[1]);
  const int full = open("/dev/full", O_WRONLY);
  EXPECT_EQ(WriteText(full, "text").code(), absl::StatusCode::kResourceExhausted);
  close(full);
  EXPECT_FALSE(WriteText(full, "text").ok()) << "a closed descriptor";
}

TEST(WriteTextTest, AReaderThatDoesNotReadIsWaitedForAsLongAsIsSaid) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  fcntl(ends[1], kSetPipeSize, kPipeBytes);
  const std::string text(3 * kPipeBytes, 'x');
  EXPECT_TRUE(absl::IsDeadlineExceeded(WriteText(ends[1], text, std::chrono::milliseconds(10))));
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace fetchbench
