// The image of a target is replaced while a run is under way, and an agent comes back to it: real
// coordinator, agents and Docker Engine. Without an Engine these say so and are skipped.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "common/docker/engine_client.h"
#include "common/docker/engine_json.h"
#include "common/docker/tar_writer.h"
#include "common/io_thread.h"
#include "tests/integration/run_fixture.h"
#include "tests/support/container_image.h"
#include "tests/support/run_task.h"

namespace fetchbench::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kUrls = 2'000;
constexpr const char* kScripted = R"({"name": "test/replaced", "kind": "fetch",
  "language": "C++", "method": "scripted", "aliases": ["replaced"], "concurrency": 4,
  "stage": ["fetchbench-container-target"]})";

class ImageReplacedTest : public RunFixture {
 protected:
  void SetUp() override {
    if (EngineSocket().empty()) GTEST_SKIP() << kNoEngine;
    std::filesystem::create_directories(folder_.File("lib/test/replaced"));
    folder_.Write("lib/test/replaced/target.json", kScripted);
    // Unlike any image there is.
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    folder_.Write("lib/test/replaced/Dockerfile",
                  "FROM scratch\nCOPY bin/ /\nENTRYPOINT [\"/fetchbench-container-target\"]\n"
                  "LABEL fresh=" +
                      std::to_string(getpid()) + "-" + std::to_string(now) + "\n");
  }
  void TearDown() override {
    for (const std::string& id : {other_, id_}) {
      if (!id.empty()) RunOn(thread_, client_.RemoveImage(id)).get().IgnoreError();
    }
  }

  // Until records come.
  std::unique_ptr<Program> Begin(const std::vector<std::string>& options) {
    std::vector<std::string> arguments{
        Bin("fetchbench-coordinator"), "run", "replaced", "--web", "sim:fast", "--agents",
        "one=" + AgentAddress(0) + ",two=" + AgentAddress(1), "--out", Out(), "--concurrency", "1",
        "--format", "plain", "--grace", "0.5",
        // Long enough to be disturbed.
        "--user-agent", "pause=5"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    auto run = std::make_unique<Program>(
        arguments, std::map<std::string, std::string>{{"FETCHBENCH_LIB", folder_.File("lib")}});
    run->Write(List(kUrls));
    run->CloseInput();
    EXPECT_TRUE(run->WaitForOutput("://h")) << run->error();
    return run;
  }
  // The second agent dies, its image is replaced, and it is started again. The first one is frozen
  // meanwhile, so that the run is not over before.
  void ReplaceBehind(Program& one, std::unique_ptr<Program>& two) {
    one.Signal(SIGSTOP);
    two->Signal(SIGKILL);
    two->WaitForExit();
    ASSERT_NO_FATAL_FAILURE(ReplaceImage());
    two = StartAgentAt(1);
  }
  // What the first agent runs.
  void NoteImage() {
    id_ = std::string(RunJson().at("agents").at(0).at("target").at("image_digest").as_string());
    const auto image = RunOn(thread_, client_.InspectImage(id_)).get();
    ASSERT_TRUE(image.ok()) << image.status();
    ASSERT_FALSE(image->tags.empty());
    tag_ = image->tags[0];
  }
  // Another image gets its name.
  void ReplaceImage() {
    auto context = docker::TarOfFile("Dockerfile", "FROM " + tag_ + "\n", false);
    ASSERT_TRUE(context.ok()) << context.status();
    docker::BuildRequest request;
    request.name = "another image";
    request.context = docker::BodyFromString(*std::move(context));
    request.tag = tag_;
    request.labels["by"] = "hand";
    const auto id =
        RunOn(thread_, client_.BuildImage(std::move(request), [](std::string_view) {})).get();
    ASSERT_TRUE(id.ok()) << id.status();
    other_ = *id;
  }
  // Once no container uses it any more.
  void RemoveImage() {
    absl::Status removed;
    for (int i = 0; i < 1000; ++i) {
      removed = RunOn(thread_, client_.RemoveImage(id_)).get();
      if (!absl::IsFailedPrecondition(removed)) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ASSERT_TRUE(removed.ok()) << removed;
  }
  void ExpectAllFetched() const {
    ExpectBalanced();
    EXPECT_EQ(Ask("SELECT count(*) FROM record"), std::to_string(kUrls));
  }

  IoThread thread_{"engine"};
  docker::EngineClient client_{thread_.executor(), EngineSocket()};
  std::string id_;
  std::string other_;
  std::string tag_;
};

TEST_F(ImageReplacedTest, AnAgentThatComesBackToAnotherImageRunsTheFleetsAgain) {
  const auto one = StartAgentAt(0);
  auto two = StartAgentAt(1);
  const auto run = Begin({});
  ASSERT_NO_FATAL_FAILURE(NoteImage());
  ASSERT_NO_FATAL_FAILURE(ReplaceBehind(*one, two));
  EXPECT_TRUE(run->WaitForError("agent two is made ready again")) << run->error();
  EXPECT_THAT(run->error(), AllOf(HasSubstr(id_), HasSubstr(other_)));
  EXPECT_TRUE(run->WaitForError("agent two is back")) << run->error();
  one->Signal(SIGCONT);
  EXPECT_EQ(run->WaitForExit(), 0) << run->error();
  ExpectAllFetched();
  const boost::json::value run_json = RunJson();
  for (const auto& agent : run_json.at("agents").as_array()) {
    EXPECT_EQ(agent.at("target").at("image_digest").as_string(), id_);
  }
  EXPECT_EQ(Summary().at("agents").at(1).at("reconnects").to_number<int>(), 1);
}

// What the user named cannot be sent: the agent is left out, and says what to do.
TEST_F(ImageReplacedTest, AnAgentThatComesBackToAnotherNamedImageIsLeftOut) {
  const auto one = StartAgentAt(0);
  auto two = StartAgentAt(1);
  const std::string name = "fetchbench/test-replaced:" + std::to_string(getpid());
  {
    const auto made = Begin({});
    ASSERT_NO_FATAL_FAILURE(NoteImage());
    made->Signal(SIGINT);
    made->WaitForExit();
  }
  const size_t colon = name.find(':');
  ASSERT_TRUE(RunOn(thread_, client_.TagImage(id_, name.substr(0, colon), name.substr(colon + 1)))
                  .get()
                  .ok());
  tag_ = name;
  const auto run = Begin({"--image", name});
  ASSERT_NO_FATAL_FAILURE(ReplaceBehind(*one, two));
  EXPECT_TRUE(run->WaitForError("it was replaced after it was made ready")) << run->error();
  one->Signal(SIGCONT);
  EXPECT_EQ(run->WaitForExit(), 0) << run->error();
  RunOn(thread_, client_.RemoveImage(name)).get().IgnoreError();
  ExpectAllFetched();
  EXPECT_TRUE(Summary().at("degraded").as_bool());
  EXPECT_THAT(std::string(Summary().at("reason").as_string()),
              AllOf(HasSubstr("two lost"), HasSubstr(id_), HasSubstr(other_),
                    HasSubstr("bin/provision --image " + name), HasSubstr("URLs moved")));
}

TEST_F(ImageReplacedTest, AResumedRunTakesTheSameImageOrSaysThatItIsAnother) {
  const auto one = StartAgentAt(0);
  const auto two = StartAgentAt(1);
  const auto resume = [this] {
    return std::make_unique<Program>(
        std::vector<std::string>{Bin("fetchbench-coordinator"), "resume", "--out", Out(),
                                 "--progress", "plain", "--format", "plain"},
        std::map<std::string, std::string>{{"FETCHBENCH_LIB", folder_.File("lib")}});
  };
  const auto run = Begin({});
  ASSERT_NO_FATAL_FAILURE(NoteImage());
  ASSERT_NO_FATAL_FAILURE(ReplaceImage());
  run->Signal(SIGKILL);
  run->WaitForExit();
  {
    const auto again = resume();
    ASSERT_TRUE(again->WaitForOutput("://h")) << again->error();
    EXPECT_EQ(RunJson().at("agents").at(0).at("target").at("image_digest").as_string(), id_);
    again->Signal(SIGINT);
    EXPECT_EQ(again->WaitForExit(), 130) << again->error();
    EXPECT_EQ(again->error().find("is sha256:"), std::string::npos) << again->error();
  }
  ASSERT_NO_FATAL_FAILURE(RemoveImage());
  const auto last = resume();
  EXPECT_EQ(last->WaitForExit(), 0) << last->error();
  ExpectAllFetched();
  EXPECT_THAT(last->error(), AllOf(HasSubstr("the image of test/replaced for "),
                                   HasSubstr("was " + id_ + ", is sha256:")));
  id_ = std::string(RunJson().at("agents").at(0).at("target").at("image_digest").as_string());
}

}  // namespace
}  // namespace fetchbench::test
