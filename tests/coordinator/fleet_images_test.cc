// What is done about agents that come after the others were made ready, over agents that are real
// gRPC servers and whose images are their ids.
#include "coordinator/run/fleet_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "tests/coordinator/image_fleet_fixture.h"
#include "tests/support/run_task.h"

namespace fetchbench::coordinator {
namespace {

using test::FakeImageAgent;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class FleetImagesTest : public ImageFleetFixture {
 protected:
  // By hand, behind everybody's back.
  void SetImage(size_t agent, const std::string& id) {
    const std::lock_guard lock(engines_[agent]->mutex);
    engines_[agent]->image_id = id;
  }

  // All agents are made ready, as at the begin of a run, and are at work then.
  void Prepare(const std::string& image = "") {
    FleetCall call = Call(image);
    FleetPrepared prepared = test::RunOn(loop_, PrepareFleet(call)).get();
    images_ = std::make_unique<FleetImages>(std::move(call), std::move(prepared.images));
    for (const auto& agent : agents_) agent->SetBusy(true);
  }

  // It came back, or came late, and refused to start: it is not at work.
  absl::Status MakeReadyAgain(size_t agent) {
    agents_[agent]->SetBusy(false);
    return test::RunOn(loop_, images_->MakeReadyAgain(
                                  agent, absl::FailedPreconditionError("another image")))
        .get();
  }

  std::unique_ptr<FleetImages> images_;
};

TEST_F(FleetImagesTest, AnAgentWhoseImageWasReplacedGetsTheFleetsAgain) {
  Add({.builds = "one"});
  Add({});
  Prepare();
  EXPECT_THAT(images_->Ids(), ElementsAre(Pair("x86_64", "one")));
  SetImage(1, "by hand");
  EXPECT_TRUE(MakeReadyAgain(1).ok());
  EXPECT_EQ(agents_[1]->image(), "one");
  SetImage(1, "");
  EXPECT_TRUE(MakeReadyAgain(1).ok());
  EXPECT_EQ(agents_[1]->image(), "one");
  // What was fetched once is sent again: the others are at work now.
  EXPECT_EQ(agents_[0]->exports(), 1);
  EXPECT_THAT(images_->Ids(), ElementsAre(Pair("x86_64", "one")));
}

TEST_F(FleetImagesTest, AnImageThatNobodyWasSentIsFetchedFromAHolderThatIsNotAtWork) {
  Add({}, "old");
  Add({}, "old");
  Prepare();
  agents_[0]->SetBusy(false);
  SetImage(1, "");
  EXPECT_TRUE(MakeReadyAgain(1).ok());
  EXPECT_EQ(agents_[1]->image(), "old");
  EXPECT_EQ(agents_[0]->exports(), 1);
}

TEST_F(FleetImagesTest, WithEveryHolderAtWorkTheAgentIsLeftOutAndSaysWhy) {
  Add({}, "old");
  Add({}, "old");
  Prepare();
  SetImage(1, "");
  const absl::Status left_out = MakeReadyAgain(1);
  EXPECT_TRUE(absl::IsFailedPrecondition(left_out)) << left_out;
  EXPECT_THAT(std::string(left_out.message()), HasSubstr("agent a: busy with a run"));
  EXPECT_EQ(agents_[0]->exports(), 0);
}

TEST_F(FleetImagesTest, WhatNobodyHandsOutLeavesTheAgentOutAndSaysWhy) {
  Add({.export_breaks_after = 0}, "old");
  Add({}, "old");
  Prepare();
  agents_[0]->SetBusy(false);
  SetImage(1, "by hand");
  const absl::Status left_out = MakeReadyAgain(1);
  EXPECT_TRUE(absl::IsFailedPrecondition(left_out)) << left_out;
  EXPECT_THAT(
      std::string(left_out.message()),
      AllOf(HasSubstr("another image; making it ready again failed"), HasSubstr("agent a: ")));
  EXPECT_EQ(agents_[1]->image(), "by hand");
  EXPECT_EQ(agents_[1]->builds(), 0) << "that would be yet another image";
}

TEST_F(FleetImagesTest, AnAgentThatHasAnotherThanItWasSentIsLeftOutAndChangesNothing) {
  Add({}, "one");
  Add({.tells = "another"});
  images_ = std::make_unique<FleetImages>(
      Call(),
      std::map<std::string, FleetImage>{{"x86_64", {"one", {{0, "x86_64", "one", 0}}, {}}}});
  const absl::Status left_out = MakeReadyAgain(1);
  EXPECT_TRUE(absl::IsFailedPrecondition(left_out)) << left_out;
  EXPECT_THAT(std::string(left_out.message()), HasSubstr("it was sent image one and has another"));
  EXPECT_THAT(images_->Ids(), ElementsAre(Pair("x86_64", "one")));
}

TEST_F(FleetImagesTest, TheFirstOfItsArchitectureMakesItsOwnAndTheNextGetsThat) {
  Add({}, "one");
  FakeImageAgent& arm = Add({.architecture = "aarch64", .builds = "arm"});
  FakeImageAgent& other = Add({.architecture = "aarch64", .builds = "arm two"});
  // Only the first one was there when the run began.
  images_ = std::make_unique<FleetImages>(
      Call(),
      std::map<std::string, FleetImage>{{"x86_64", {"one", {{0, "x86_64", "one", 0}}, {}}}});
  EXPECT_TRUE(MakeReadyAgain(1).ok());
  EXPECT_EQ(arm.builds(), 1);
  EXPECT_TRUE(MakeReadyAgain(2).ok());
  EXPECT_EQ(other.builds(), 0);
  EXPECT_EQ(other.image(), "arm");
  EXPECT_THAT(images_->Ids(), UnorderedElementsAre(Pair("x86_64", "one"), Pair("aarch64", "arm")));
}

TEST_F(FleetImagesTest, TheFirstOfItsArchitectureTakesTheImageOfAnEarlierSession) {
  Add({}, "one");
  Add({.architecture = "aarch64", .builds = "new"}, "by hand");
  engines_[1]->nameless = "earlier";
  FleetCall call = Call();
  call.earlier_ids = {{"x86_64", "one"}, {"aarch64", "earlier"}};
  images_ = std::make_unique<FleetImages>(
      std::move(call),
      std::map<std::string, FleetImage>{{"x86_64", {"one", {{0, "x86_64", "one", 0}}, {}}}});
  EXPECT_TRUE(MakeReadyAgain(1).ok());
  EXPECT_EQ(agents_[1]->image(), "earlier");
  EXPECT_THAT(images_->Ids(),
              UnorderedElementsAre(Pair("x86_64", "one"), Pair("aarch64", "earlier")));
}

TEST_F(FleetImagesTest, ARefusalThatIsNotForTheImageStands) {
  Add({.builds = "one"});
  Add({});
  Prepare();
  // Somebody else may have seen to its image just before it was looked for: another attempt.
  EXPECT_TRUE(MakeReadyAgain(1).ok());
  EXPECT_EQ(MakeReadyAgain(1), absl::FailedPreconditionError("another image"));
  EXPECT_EQ(agents_[0]->exports(), 1);
}

TEST_F(FleetImagesTest, AnAgentThatIsRebootedTwiceIsMadeReadyTwice) {
  Add({.builds = "one"});
  Add({});
  Prepare();
  // Another agent of its Engine saw to the image each time.
  EXPECT_TRUE(MakeReadyAgain(1).ok());
  images_->Started(1);
  EXPECT_TRUE(MakeReadyAgain(1).ok());
}

TEST_F(FleetImagesTest, AnArchiveIsKeptForThoseToComeUntilTheRunIsOver) {
  Add({.builds = "one"});
  Add({});
  Prepare();
  EXPECT_EQ(OpenFiles(), 1u);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "it has no name";
  images_->Close();
  EXPECT_EQ(OpenFiles(), 0u);
}

TEST_F(FleetImagesTest, AnImageThatWasNamedIsNotSent) {
  Add({}, "one");
  Add({}, "one");
  Prepare("mine:1");
  SetImage(1, "by hand");
  EXPECT_EQ(MakeReadyAgain(1), absl::FailedPreconditionError("another image"));
  EXPECT_EQ(agents_[0]->exports(), 0);
}

TEST_F(FleetImagesTest, AnAgentThatIsGoneAgainIsTriedLater) {
  Add({.builds = "one"});
  Add({}).End();
  Prepare();
  EXPECT_TRUE(absl::IsUnavailable(MakeReadyAgain(1)));
}

}  // namespace
}  // namespace fetchbench::coordinator
