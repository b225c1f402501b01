#include "agent/container/stream_handover.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "common/io_thread.h"
#include "tests/support/run_task.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::agent {
namespace {

class StreamHandoverTest : public ::testing::Test {
 protected:
  std::shared_ptr<StreamHandover> Make(const std::string& folder) {
    auto made = StreamHandover::Make(loop_.executor(), folder);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? *made : nullptr;
  }

  test::TempFolder folder_;
  IoThread loop_{"handover-test"};
};

std::string ReadAll(int fd) {
  std::string text;
  char byte = 0;
  while (read(fd, &byte, 1) == 1) text += byte;
  return text;
}

TEST_F(StreamHandoverTest, StreamsThatNobodyFetchedAreAtTheirEndAfterClose) {
  const auto handover = Make(folder_.path());
  ASSERT_TRUE(handover);
  const OurEnds ours = handover->Begin();
  char byte = 0;
  EXPECT_EQ(read(ours.output.get(), &byte, 1), -1);
  EXPECT_EQ(errno, EAGAIN);
  test::RunOn(loop_,
              [](std::shared_ptr<StreamHandover> h) -> Task<bool> {
                h->Close();
                co_return true;
              }(handover))
      .get();
  EXPECT_EQ(read(ours.output.get(), &byte, 1), 0);
  EXPECT_EQ(read(ours.errors.get(), &byte, 1), 0);
}

TEST_F(StreamHandoverTest, ThePathOfTheSocketMayBeLongerThanASocketsAddress) {
  const std::string deep = folder_.path() + "/" + std::string(150, 'd');
  std::filesystem::create_directory(deep);
  const auto handover = Make(deep);
  ASSERT_TRUE(handover);
  EXPECT_TRUE(std::filesystem::is_socket(handover->socket_path()));
}

TEST_F(StreamHandoverTest, TheSocketGoesWithItsObject) {
  std::string path;
  {
    const auto handover = Make(folder_.path());
    ASSERT_TRUE(handover);
    path = handover->socket_path();
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(StreamHandoverTest, AFolderThatIsNotThereIsNamed) {
  const auto made = StreamHandover::Make(loop_.executor(), folder_.path() + "/none");
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.status().ToString().find("/none"), std::string::npos);
}

// Started outside of a container: the paths of both sides are fixed, so there is no agent there.
TEST_F(StreamHandoverTest, TheEntryProgramSaysWhomItDidNotReach) {
  const auto entry =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fetchbench-entry";
  FILE* output = popen((entry.string() + " /bin/true 2>&1").c_str(), "r");
  ASSERT_NE(output, nullptr);
  const std::string said = ReadAll(fileno(output));
  EXPECT_EQ(WEXITSTATUS(pclose(output)), 127);
  EXPECT_NE(said.find("/.fetchbench/streams"), std::string::npos) << said;
}

}  // namespace
}  // namespace fetchbench::agent
