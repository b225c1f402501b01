// Engines that are missing, silent, rude or forbidden: a server of our own on a Unix socket stands
// in for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "common/docker/engine_client.h"
#include "common/io_thread.h"
#include "tests/support/rude_engine.h"
#include "tests/support/run_task.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::docker {
namespace {

using std::chrono::milliseconds;
using test::RudeServer;
using test::RunOn;
using ::testing::HasSubstr;

class EngineTroubleTest : public ::testing::Test {
 protected:
  EngineClient Client() {
    return EngineClient(loop_.executor(), path_,
                        {milliseconds(150), milliseconds(150), milliseconds(150)});
  }
  template <typename T>
  T Get(Task<T> task) {
    return RunOn(loop_, std::move(task)).get();
  }

  const test::TempFolder folder_;
  const std::string path_ = folder_.File("engine.sock");
  IoThread loop_{"docker-test"};
};

TEST_F(EngineTroubleTest, EveryCallOnASilentEngineEndsByItsDeadline) {
  const RudeServer server(path_, "");
  EngineClient client = Client();
  BuildRequest build;
  build.name = "x";
  build.context = BodyFromString("bytes");
  std::vector<absl::Status> results;
  results.push_back(Get(client.Version()).status());
  results.push_back(Get(client.Info()).status());
  results.push_back(Get(client.BuildImage(std::move(build), nullptr)).status());
  results.push_back(Get(client.LoadImages(BodyFromString("bytes"))).status());
  results.push_back(Get(client.ExportImage("x")).status());
  results.push_back(Get(client.ImportImage(BodyFromString("bytes"), "r", "t", {})).status());
  results.push_back(Get(client.InspectImage("x")).status());
  results.push_back(Get(client.TagImage("x", "r", "t")));
  results.push_back(Get(client.RemoveImage("x")));
  results.push_back(Get(client.ListImages("x")).status());
  results.push_back(Get(client.CreateContainer("x", {})).status());
  results.push_back(Get(client.StartContainer("x")));
  results.push_back(Get(client.AttachContainer("x", true)).status());
  results.push_back(Get(client.WaitContainer("x", milliseconds(150))).status());
  results.push_back(Get(client.KillContainer("x", "SIGTERM")));
  results.push_back(Get(client.InspectContainer("x")).status());
  results.push_back(Get(client.RemoveContainer("x")));
  results.push_back(Get(client.ListContainers({"a"})).status());
  results.push_back(Get(client.Stats("x")).status());
  results.push_back(Get(client.CreateNetwork("x", {})).status());
  results.push_back(Get(client.InspectNetwork("x")).status());
  results.push_back(Get(client.RemoveNetwork("x")));
  results.push_back(Get(client.ListNetworks({"a"})).status());
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_TRUE(absl::IsDeadlineExceeded(results[i])) << i << " " << results[i];
    EXPECT_THAT(std::string(results[i].message()), HasSubstr(path_)) << i;
  }
}

// It answers the version and is silent afterwards: the calls themselves have a deadline too.
TEST_F(EngineTroubleTest, AnAnswerThatStopsHalfWayEndsByItsDeadline) {
  const RudeServer server(path_,
                          "HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nContent-Length: 9\r\n\r\n{");
  EngineClient client = Client();
  EXPECT_TRUE(absl::IsDeadlineExceeded(Get(client.Version()).status()));
}

constexpr const char* kPong = "HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nContent-Length: 0\r\n\r\n";
constexpr const char* kRemoved = "HTTP/1.1 204 No Content\r\n\r\n";
constexpr const char* kNotEmpty =
    "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 36\r\n\r\n"
    R"({"message":"x: directory not empty"})";

// While the Engine books what went on in a container, it fails to remove the files of it.
TEST_F(EngineTroubleTest, ARemovalThatFailedOnceIsTriedAgain) {
  const RudeServer server(path_, std::vector<std::string>{kPong, kNotEmpty, kRemoved});
  EngineClient client = Client();
  EXPECT_TRUE(Get(client.RemoveContainer("x")).ok());
}

TEST_F(EngineTroubleTest, ARemovalThatFailsForGoodSaysSo) {
  const RudeServer server(path_, std::vector<std::string>{kPong, kNotEmpty});
  EngineClient client = Client();
  const absl::Status s = Get(client.RemoveContainer("x"));
  EXPECT_TRUE(absl::IsInternal(s)) << s;
  EXPECT_THAT(std::string(s.message()), HasSubstr("directory not empty"));
}

TEST_F(EngineTroubleTest, NonsenseIsAnError) {
  const RudeServer server(path_, "SSH-2.0-OpenSSH_9.2\r\n\r\n");
  EngineClient client = Client();
  const absl::Status s = Get(client.Version()).status();
  EXPECT_TRUE(absl::IsUnavailable(s)) << s;
}

TEST_F(EngineTroubleTest, CancelAllEndsWhatIsUnderWay) {
  const RudeServer server(path_, "");
  EngineClient client(loop_.executor(), path_);  // with deadlines far off
  auto result = RunOn(loop_, client.Version());
  std::this_thread::sleep_for(milliseconds(50));
  net::post(loop_.context(), [client]() mutable { client.CancelAll(); });
  EXPECT_TRUE(absl::IsCancelled(result.get().status()));
}

TEST_F(EngineTroubleTest, AMissingSocketSaysWhatToDo) {
  EngineClient client = Client();
  const absl::Status s = Get(client.Version()).status();
  EXPECT_TRUE(absl::IsUnavailable(s));
  EXPECT_THAT(std::string(s.message()), HasSubstr("DOCKER_HOST"));
}

TEST_F(EngineTroubleTest, ASocketWithoutAListenerSaysWhatToDo) {
  { const RudeServer server(path_, ""); }
  EngineClient client = Client();
  const absl::Status s = Get(client.Version()).status();
  EXPECT_TRUE(absl::IsUnavailable(s));
  EXPECT_THAT(std::string(s.message()), HasSubstr("start the Docker Engine"));
}

TEST_F(EngineTroubleTest, ASocketThatIsNotOursSaysWhatToDo) {
  if (geteuid() == 0) GTEST_SKIP() << "root may open every socket";
  const RudeServer server(path_, "");
  chmod(path_.c_str(), 0);
  EngineClient client = Client();
  EXPECT_TRUE(absl::IsPermissionDenied(Get(client.Version()).status()));
}

}  // namespace
}  // namespace fetchbench::docker
