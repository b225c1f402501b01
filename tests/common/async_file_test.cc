#include "common/async_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <boost/asio/post.hpp>
#include <future>
#include <string>
#include <utility>

#include "common/io_thread.h"
#include "tests/support/run_task.h"
#include "tests/support/temp_folder.h"

namespace fetchbench {
namespace {

TEST(AsyncFileTest, TheLoopGoesOnWhileTheFileIsSlow) {
  IoThread loop("async-file-test");
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe2(pipe_ends.data(), O_CLOEXEC), 0);
  Fd reader(pipe_ends[0]);
  // A file that takes no more than a pipe holds until somebody reads.
  AsyncFile file(TemporaryFile::Adopt(Fd(pipe_ends[1]), "a test"));
  const std::string bytes(1 << 20, 'x');
  auto appended = test::RunOn(loop, file.Append(bytes));
  std::promise<void> went_on;
  auto goes_on = went_on.get_future();
  net::post(loop.executor(), [&went_on] { went_on.set_value(); });
  EXPECT_EQ(goes_on.wait_for(test::kTestPatience), std::future_status::ready);
  EXPECT_FALSE(test::IsReady(appended, std::chrono::milliseconds(0))) << "nobody has read";
  size_t read_bytes = 0;
  std::string piece(64 << 10, '\0');
  while (read_bytes < bytes.size()) {
    const ssize_t n = read(reader.get(), piece.data(), piece.size());
    ASSERT_GT(n, 0);
    read_bytes += static_cast<size_t>(n);
  }
  EXPECT_TRUE(appended.get().ok());
  EXPECT_EQ(file.size(), bytes.size());
}

TEST(AsyncFileTest, GivesBackWhatItWasGiven) {
  const test::TempFolder folder;
  IoThread loop("async-file-test");
  auto file = test::RunOn(loop, AsyncFile::Make(folder.path(), "a test")).get();
  ASSERT_TRUE(file.ok()) << file.status();
  const std::string hello = "hello";
  ASSERT_TRUE(test::RunOn(loop, file->Append(hello)).get().ok());
  EXPECT_EQ(test::RunOn(loop, file->Read(1, 3)).get().value(), "ell");
  EXPECT_EQ(test::RunOn(loop, file->Read(5, 3)).get().value(), "");
  const auto nowhere = test::RunOn(loop, AsyncFile::Make(folder.File("none"), "a test")).get();
  EXPECT_FALSE(nowhere.ok());
}

}  // namespace
}  // namespace fetchbench
