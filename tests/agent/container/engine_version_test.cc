// Asking the Engine for its version, which Describe does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <string>
#include <vector>

#include "agent/container/container_launcher.h"
#include "tests/support/rude_engine.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::agent {
namespace {

using ::testing::SizeIs;

constexpr const char* kAnswer =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 38\r\n\r\n"
    "{\"Version\":\"99.1\",\"ApiVersion\":\"1.41\"}";

TEST(EngineVersionTest, WhoAsksWhileAnotherOneWaitsGetsTheSameAnswer) {
  const test::TempFolder folder;
  const test::RudeServer engine(folder.File("engine.sock"), kAnswer);
  AgentConfig config;
  config.docker_socket = folder.File("engine.sock");
  net::io_context loop(1);
  ContainerLauncher launcher(loop.get_executor(), config);
  std::vector<std::string> versions;
  for (int i = 0; i < 3; ++i) {
    net::co_spawn(loop, launcher.EngineVersion(),
                  [&versions](std::exception_ptr e, const std::string& version) {
                    if (e) std::rethrow_exception(e);
                    versions.push_back(version);
                  });
  }
  loop.run();
  ASSERT_THAT(versions, SizeIs(3));
  // None when the machine is so busy that the Engine counts as one that hangs.
  EXPECT_EQ(versions[0], versions[1]);
  EXPECT_EQ(versions[0], versions[2]);
}

}  // namespace
}  // namespace fetchbench::agent
