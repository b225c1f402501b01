// Who builds, who hands its image out and who gets it, over agents that are real gRPC servers and
// whose images are their ids.
#include "coordinator/prepare/prepare_fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/prepare/image_courier.h"
#include "coordinator/prepare/image_plan.h"
#include "tests/coordinator/image_fleet_fixture.h"
#include "tests/support/run_task.h"

namespace fetchbench::coordinator {
namespace {

using test::FakeEngine;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

std::vector<ImageSighting> Sightings(const std::vector<std::string>& ids) {
  std::vector<ImageSighting> all;
  for (const std::string& id : ids) all.push_back({all.size(), "x86_64", id, 0});
  return all;
}

TEST(ImagePlanTest, TheImageThatMostHaveIsTheFleets) {
  EXPECT_EQ(ImagePlan(Sightings({"", "a", "b", "b"})).id(), "b");
  EXPECT_EQ(ImagePlan(Sightings({"", "a", "b"})).id(), "a");
  EXPECT_EQ(ImagePlan(Sightings({"", ""})).id(), "");
  const ImagePlan plan(Sightings({"", "a", "b", "b"}));
  EXPECT_TRUE(plan.Lacks(0) && plan.Lacks(1));
  EXPECT_FALSE(plan.Lacks(2) || plan.Lacks(3));
}

TEST(ImagePlanTest, TheImageOfAnEarlierSessionGoesFirst) {
  const ImagePlan plan(Sightings({"b", "b", "a"}), "a");
  EXPECT_EQ(plan.id(), "a");
  EXPECT_TRUE(plan.Lacks(0) && plan.Lacks(1));
  EXPECT_FALSE(plan.Lacks(2));
  EXPECT_EQ(ImagePlan(Sightings({"b", "b", "a"}), "gone").id(), "b");
}

TEST(ImagePlanTest, SourcesAndBuildersAreTriedOnceAndNotForEver) {
  ImagePlan plan(Sightings({"a", "a", "", "a", "a"}));
  EXPECT_EQ(plan.NextSource(), 0U);
  EXPECT_EQ(plan.NextSource(), 1U);
  EXPECT_EQ(plan.NextSource(), 3U);
  EXPECT_EQ(plan.NextSource(), std::nullopt);
  plan.Lost();
  EXPECT_EQ(plan.id(), "");
  EXPECT_EQ(plan.NextBuilder(), 2U);
  plan.Built(2, "b");
  EXPECT_TRUE(plan.Lacks(0));
  EXPECT_FALSE(plan.Lacks(2));

  ImagePlan fails(Sightings({"", "", "", "", ""}));
  EXPECT_EQ(fails.NextBuilder(), 0U);
  EXPECT_EQ(fails.NextBuilder(), 1U);
  EXPECT_EQ(fails.NextBuilder(), 2U);
  EXPECT_EQ(fails.NextBuilder(), std::nullopt);
}

TEST(ImageCourierTest, SaysHowFarAnImageIs) {
  EXPECT_EQ(TransferText("a", 12'400'000, 55'000'000), "image from agent a: 12 of 55 MB");
  EXPECT_EQ(TransferText("a", 12'400'000, 0), "image from agent a: 12 MB");
}

class PrepareFleetTest : public ImageFleetFixture {
 protected:
  FleetPrepared Prepare(const std::string& image = "") {
    FleetCall call = Call(image);
    call.events.progress = [this](size_t, const v1::PrepareProgress& progress) {
      told_.push_back(progress.message());
    };
    call.earlier_ids = earlier_ids_;
    return test::RunOn(loop_, PrepareFleet(call)).get();
  }

  static std::string Image(const absl::StatusOr<v1::TargetFacts>& facts) {
    return facts.ok() ? facts->image_digest() : facts.status().ToString();
  }
  static std::vector<std::string> Images(const FleetPrepared& prepared) {
    std::vector<std::string> images;
    for (const auto& facts : prepared.agents) images.push_back(Image(facts));
    return images;
  }

  std::vector<std::string> told_;
  std::map<std::string, std::string> earlier_ids_;
};

using Strings = std::vector<std::string>;

TEST_F(PrepareFleetTest, OneAgentOfEachArchitectureBuildsAndTheOthersGetIt) {
  for (const char* id : {"one", "two", "three"}) Add({.builds = id});
  Add({.architecture = "aarch64", .builds = "arm"});
  Add({.architecture = "aarch64", .builds = "arm two"});
  EXPECT_EQ(Images(Prepare()), (Strings{"one", "one", "one", "arm", "arm"}));
  EXPECT_EQ(agents_[0]->builds() + agents_[3]->builds(), 2);
  EXPECT_EQ(agents_[1]->builds() + agents_[2]->builds() + agents_[4]->builds(), 0);
  EXPECT_EQ(agents_[0]->exports(), 1);
  EXPECT_THAT(told_, Contains(HasSubstr("image from agent a: 0 of 0 MB")));
}

TEST_F(PrepareFleetTest, AnImageThatIsThereIsNotBuiltAnew) {
  Add({.builds = "one"});
  Add({.builds = "two"}, "old");
  Add({.builds = "three"}, "other");
  EXPECT_EQ(Images(Prepare()), (Strings{"old", "old", "old"}));
  for (const auto& agent : agents_) EXPECT_EQ(agent->builds(), 0);
}

TEST_F(PrepareFleetTest, TheImageOfAnEarlierSessionIsTakenWhereItStillIs) {
  Add({}, "other");
  Add({}, "other");
  Add({}, "earlier");
  Add({.architecture = "aarch64"}, "arm");
  earlier_ids_ = {{"x86_64", "earlier"}, {"aarch64", "gone"}};
  EXPECT_EQ(Images(Prepare()), (Strings{"earlier", "earlier", "earlier", "arm"}));
}

TEST_F(PrepareFleetTest, TellsWhichImageEachArchitectureHasAndWhoHasIt) {
  Add({.builds = "one"});
  Add({.builds = "two"});
  Add({.refuse_load = true});
  Add({.architecture = "aarch64", .builds = "arm"});
  const FleetPrepared prepared = Prepare();
  ASSERT_EQ(prepared.images.size(), 2u);
  const FleetImage& image = prepared.images.at("x86_64");
  EXPECT_EQ(image.id, "one");
  ASSERT_EQ(image.holders.size(), 2u);
  EXPECT_EQ(image.holders[1].agent, 1u);
  EXPECT_NE(image.archive, nullptr);
  EXPECT_EQ(prepared.images.at("aarch64").id, "arm");
  EXPECT_EQ(prepared.images.at("aarch64").archive, nullptr) << "nobody needed it";
}

TEST_F(PrepareFleetTest, AgentsWithOneEngineShipNothing) {
  const auto engine = std::make_shared<FakeEngine>();
  Add({.builds = "one"}, engine);
  Add({.builds = "two"}, engine);
  EXPECT_EQ(Images(Prepare()), (Strings{"one", "one"}));
  EXPECT_EQ(agents_[0]->exports() + agents_[1]->exports() + agents_[1]->loads(), 0);
}

TEST_F(PrepareFleetTest, AnotherHolderTakesOverForOneThatDiesInItsExport) {
  Add({.builds = "one", .export_breaks_after = 2}, "old");
  Add({.builds = "two"}, "old");
  Add({.builds = "three"});
  EXPECT_EQ(Images(Prepare()), (Strings{"old", "old", "old"}));
  EXPECT_EQ(agents_[0]->exports(), 1);
  EXPECT_EQ(agents_[1]->exports(), 1);
}

TEST_F(PrepareFleetTest, ABuildTakesOverForTheOnlyHolder) {
  Add({.builds = "one", .export_breaks_after = 1}, "old");
  Add({.builds = "two"});
  Add({.builds = "three"});
  EXPECT_EQ(Images(Prepare()), (Strings{"two", "two", "two"}));
  EXPECT_EQ(agents_[2]->builds(), 0);
}

TEST_F(PrepareFleetTest, WhenNobodyElseCanBuildTheHolderGoesOnAlone) {
  Add({.export_breaks_after = 1}, "old");
  Add({});
  const FleetPrepared prepared = Prepare();
  EXPECT_EQ(Image(prepared.agents[0]), "old");
  EXPECT_THAT(Image(prepared.agents[1]), HasSubstr("a step failed"));
  EXPECT_TRUE(prepared.one_image.ok()) << prepared.one_image;
}

TEST_F(PrepareFleetTest, AnotherAgentBuildsForOneThatCannot) {
  Add({});
  Add({.builds = "two"});
  EXPECT_EQ(Images(Prepare()), (Strings{"two", "two"}));
}

TEST_F(PrepareFleetTest, ABuildThatFailsEverywhereIsNotTriedForEver) {
  for (int i = 0; i < 5; ++i) Add({});
  const FleetPrepared prepared = Prepare();
  int builds = 0;
  for (const auto& agent : agents_) builds += agent->builds();
  EXPECT_EQ(builds, 3);
  EXPECT_THAT(Image(prepared.agents[0]), HasSubstr("a step failed"));
  EXPECT_THAT(Image(prepared.agents[4]),
              AllOf(HasSubstr("agent a: a step failed"), HasSubstr("agent c: a step failed")));
}

TEST_F(PrepareFleetTest, AReceiverThatFailsFailsAlone) {
  Add({.builds = "one"});
  Add({.refuse_load = true});
  Add({});
  const FleetPrepared prepared = Prepare();
  EXPECT_EQ(Image(prepared.agents[0]), "one");
  EXPECT_THAT(Image(prepared.agents[1]), HasSubstr("not taken"));
  EXPECT_EQ(Image(prepared.agents[2]), "one");
  EXPECT_TRUE(prepared.one_image.ok());
}

TEST_F(PrepareFleetTest, AnAgentThatIsGoneHoldsNobodyUp) {
  Add({.builds = "one"}).End();
  Add({.builds = "two"});
  const FleetPrepared prepared = Prepare();
  EXPECT_TRUE(absl::IsUnavailable(prepared.agents[0].status())) << Image(prepared.agents[0]);
  EXPECT_EQ(Image(prepared.agents[1]), "two");
}

TEST_F(PrepareFleetTest, DifferentImagesInTheEndAreAnErrorThatNamesBoth) {
  Add({.builds = "one"});
  Add({.tells = "another"});
  const FleetPrepared prepared = Prepare();
  EXPECT_TRUE(absl::IsFailedPrecondition(prepared.one_image));
  EXPECT_THAT(std::string(prepared.one_image.message()),
              AllOf(HasSubstr("agents a and b"), HasSubstr("one and another")));
}

TEST_F(PrepareFleetTest, AReferenceMustBeTheSameImageOnAllAgentsOfAnArchitecture) {
  Add({}, "one");
  Add({}, "one");
  Add({.architecture = "aarch64"}, "arm");
  EXPECT_TRUE(Prepare("mine:1").one_image.ok());
  Add({}, "two");
  const absl::Status verdict = Prepare("mine:1").one_image;
  EXPECT_TRUE(absl::IsFailedPrecondition(verdict));
  EXPECT_THAT(std::string(verdict.message()),
              AllOf(HasSubstr("agents a and d"), HasSubstr("bin/provision --image mine:1")));
  EXPECT_EQ(agents_[0]->exports(), 0);
}

}  // namespace
}  // namespace fetchbench::coordinator
