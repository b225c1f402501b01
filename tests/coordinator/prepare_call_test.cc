// One call of Prepare with agents that do not do as they should: real gRPC servers.
#include "coordinator/prepare/prepare_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "coordinator/prepare/prepare_fleet.h"
#include "tests/coordinator/image_fleet_fixture.h"
#include "tests/support/run_task.h"

namespace fetchbench::coordinator {
namespace {

using test::FakeImageAgent;
using ::testing::AllOf;
using ::testing::HasSubstr;

class PrepareCallTest : public ImageFleetFixture {
 protected:
  // A call that the user can stop, and whose writes have all the time there is.
  FleetCall StoppableCall() {
    FleetCall call = Call();
    call.limits.write = std::chrono::hours(1);
    call.events.stopped = [this] { return stopped_.load(); };
    call.events.progress = [this](size_t, const v1::PrepareProgress& progress) {
      if (progress.message().starts_with("image from agent")) image_is_sent_ = true;
    };
    return call;
  }

  // Until `agent` is sent something, and takes nothing.
  static void WaitUntilStalled(const FakeImageAgent& agent) {
    WaitFor([&agent] { return agent.stalls(); });
    // So that what gRPC takes without the agent is full; before, there would be nothing to wait
    // for.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  static void WaitFor(const std::function<bool()>& done) {
    const auto limit = std::chrono::steady_clock::now() + test::kTestPatience;
    while (!done() && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_TRUE(done());
  }

  std::atomic<bool> stopped_{false};
  std::atomic<bool> image_is_sent_{false};
};

TEST_F(PrepareCallTest, AUserWhoGivesUpDoesNotWaitForAnAgentThatTakesNoFolder) {
  FakeImageAgent& agent = Add({.builds = "one", .takes_nothing = true});
  FleetCall call = StoppableCall();
  call.plan.context = std::make_shared<const std::string>(std::string(16 << 20, 'x'));
  auto last = test::RunOn(loop_, PrepareAgent(call, 0, PrepareWish()));
  WaitUntilStalled(agent);
  stopped_ = true;
  const bool in_time = test::IsReady(last);
  EXPECT_TRUE(in_time);
  if (!in_time) agent.End();
  EXPECT_EQ(last.get().status(), absl::CancelledError("stopped by the user"));
}

TEST_F(PrepareCallTest, AUserWhoGivesUpDoesNotWaitForAnAgentThatTakesNoImage) {
  Add({.export_pieces = 40, .export_bytes = 256 << 10}, "one");
  FakeImageAgent& agent = Add({.takes_nothing = true});
  const FleetCall call = StoppableCall();
  auto prepared = test::RunOn(loop_, PrepareFleet(call));
  WaitFor([this] { return image_is_sent_.load(); });
  WaitUntilStalled(agent);
  stopped_ = true;
  const bool in_time = test::IsReady(prepared);
  EXPECT_TRUE(in_time);
  if (!in_time) agent.End();
  EXPECT_EQ(prepared.get().agents[1].status(), absl::CancelledError("stopped by the user"));
}

// It is not what our own deadlines say: waiting on would be for ever, and at once.
TEST_F(PrepareCallTest, AnAgentThatEndsTheCallWithADeadlineOfItsOwnIsHeard) {
  const std::string why = "--describe did not end within 10000 ms";
  Add({.ends_prepare = grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, why)});
  const FleetCall call = StoppableCall();
  auto last = test::RunOn(loop_, PrepareAgent(call, 0, PrepareWish()));
  EXPECT_TRUE(test::IsReady(last));
  stopped_ = true;
  EXPECT_EQ(last.get().status(), absl::DeadlineExceededError(why));
}

TEST_F(PrepareCallTest, AUserWhoGivesUpDoesNotHearOutAnAgentThatNeverStopsTalking) {
  constexpr int kWords = 20'000;
  Add({.says_first = kWords});
  FleetCall call = StoppableCall();
  int heard = 0;
  call.events.progress = [&](size_t, const v1::PrepareProgress&) {
    if (++heard == 3) stopped_ = true;
  };
  auto last = test::RunOn(loop_, PrepareAgent(call, 0, PrepareWish()));
  EXPECT_EQ(last.get().status(), absl::CancelledError("stopped by the user"));
  EXPECT_LT(heard, kWords);
}

TEST_F(PrepareCallTest, AnAgentThatNeverStopsTalkingIsGivenUpAtTheLimit) {
  Add({.says_first = 20'000});
  FleetCall call = StoppableCall();
  call.limits.look = call.limits.work = std::chrono::milliseconds(1);
  call.events.progress = [](size_t, const v1::PrepareProgress&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  auto last = test::RunOn(loop_, PrepareAgent(call, 0, PrepareWish()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(last.get().status()));
}

// What an agent answers to a wish, and what of it is a breach of the protocol.
class AnswerTest : public PrepareCallTest {
 protected:
  std::string Say(const v1::PrepareProgress& answer, const PrepareWish& wish) {
    Add(wish.look ? test::FakeImageScript{.to_look = answer}
                  : test::FakeImageScript{.to_prepare = answer});
    const FleetCall call = Call();
    return test::RunOn(loop_, PrepareAgent(call, agents_.size() - 1, wish))
        .get()
        .status()
        .ToString();
  }
  static v1::PrepareProgress Ready() {
    v1::PrepareProgress answer;
    answer.set_ready(true);
    answer.mutable_facts()->set_name("go/net-http");
    return answer;
  }
  static v1::PrepareProgress Found() {
    v1::PrepareProgress answer;
    answer.mutable_found()->set_architecture("x86_64");
    return answer;
  }
  static v1::PrepareProgress Wanting(bool folder, bool image) {
    v1::PrepareProgress answer;
    answer.set_send_context(folder);
    answer.set_send_image(image);
    return answer;
  }
  static PrepareWish Look() {
    PrepareWish wish;
    wish.look = true;
    return wish;
  }
};

TEST_F(AnswerTest, OneThatFitsIsTaken) {
  EXPECT_EQ(Say(Found(), Look()), "OK");
  EXPECT_EQ(Say(Ready(), PrepareWish()), "OK");
}

TEST_F(AnswerTest, OneToAnotherQuestionIsABreachThatNamesTheAgent) {
  EXPECT_THAT(Say(Ready(), Look()), AllOf(HasSubstr("INTERNAL"), HasSubstr("agent a does not keep"),
                                          HasSubstr("it said that the target is ready")));
  EXPECT_THAT(Say(Found(), PrepareWish()),
              AllOf(HasSubstr("agent b does not keep"), HasSubstr("which image it has")));
  v1::PrepareProgress both = Ready();
  *both.mutable_found() = Found().found();
  EXPECT_THAT(Say(both, Look()), HasSubstr("does not keep to the protocol"));
  EXPECT_THAT(Say(both, PrepareWish()), HasSubstr("does not keep to the protocol"));
}

TEST_F(AnswerTest, OneThatWantsWhatThereIsNotIsABreach) {
  EXPECT_THAT(Say(Wanting(true, false), Look()), HasSubstr("it wanted to be sent something"));
  EXPECT_THAT(Say(Wanting(false, true), PrepareWish()), HasSubstr("it wants an image"));
  EXPECT_THAT(Say(Wanting(true, true), PrepareWish()), HasSubstr("both a folder and an image"));
  PrepareWish with_id;
  with_id.image_id = "one";
  EXPECT_THAT(Say(Wanting(true, false), with_id), HasSubstr("it wants a folder"));
}

TEST_F(AnswerTest, ReadyWithoutFactsIsABreach) {
  v1::PrepareProgress bare;
  bare.set_ready(true);
  EXPECT_THAT(Say(bare, PrepareWish()), HasSubstr("does not say with what"));
}

TEST_F(PrepareCallTest, NothingIsLeftOfAnImageWhenTheUserGivesUp) {
  Add({.export_pieces = 40, .export_bytes = 256 << 10}, "one");
  FakeImageAgent& agent = Add({.takes_nothing = true});
  {
    const FleetCall call = StoppableCall();
    auto prepared = test::RunOn(loop_, PrepareFleet(call));
    WaitFor([this] { return image_is_sent_.load(); });
    EXPECT_EQ(OpenFiles(), 1u) << "on its way";
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "it has no name";
    stopped_ = true;
    const bool in_time = test::IsReady(prepared);
    EXPECT_TRUE(in_time);
    if (!in_time) agent.End();
    EXPECT_FALSE(prepared.get().agents[1].ok());
  }
  // The result, with the archive that others could have been sent, is gone.
  EXPECT_EQ(OpenFiles(), 0u);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

}  // namespace
}  // namespace fetchbench::coordinator
