#include "common/docker/old_images.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/docker/sha256.h"
#include "common/docker/tar_writer.h"
#include "common/io_thread.h"
#include "tests/support/container_image.h"
#include "tests/support/run_task.h"

namespace fetchbench::docker {
namespace {

using std::chrono::seconds;
using test::RunOn;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr seconds kNow{1'000'000};

std::vector<ImageSummary> Aged(const std::vector<int64_t>& ages) {
  std::vector<ImageSummary> images;
  for (const int64_t age : ages) {
    images.push_back({"", kNow.count() - age, {fmt::format("r:{}", images.size())}});
  }
  return images;
}

TEST(SupersededImagesTest, TheNewestAndTheCurrentOneStay) {
  const auto images = Aged({9'000, 8'000, 7'000, 6'000, 5'000, 4'000});
  EXPECT_THAT(SupersededImages(images, "r:5", kNow), ElementsAre("r:0", "r:1"));
  EXPECT_THAT(SupersededImages(images, "r:0", kNow), ElementsAre("r:1", "r:2"));
  EXPECT_THAT(SupersededImages(images, "r:new", kNow), ElementsAre("r:0", "r:1", "r:2"));
  EXPECT_THAT(SupersededImages(Aged({9'000, 8'000, 7'000, 6'000}), "r:3", kNow), IsEmpty());
  EXPECT_THAT(SupersededImages({}, "r:3", kNow), IsEmpty());
}

TEST(SupersededImagesTest, YoungOnesStayHoweverMany) {
  EXPECT_THAT(SupersededImages(Aged({4'000, 3'599, 500, 400, 300, 200, 100}), "r:6", kNow),
              ElementsAre("r:0"));
}

TEST(SupersededImagesTest, OnlySoManyGoAtOnce) {
  EXPECT_THAT(SupersededImages(Aged(std::vector<int64_t>(100, 9'000)), "r:0", kNow),
              SizeIs(kRemovedAtOnce));
}

TEST(SupersededImagesTest, EachTagOfAnImageIsOne) {
  std::vector<ImageSummary> images = Aged({9'000, 8'000, 7'000, 6'000});
  images[0].tags = {"r:a", "r:b"};
  EXPECT_THAT(SupersededImages(images, "r:3", kNow), UnorderedElementsAre("r:a"));
  images[0].tags.clear();  // without a name it is none of ours to remove
  EXPECT_THAT(SupersededImages(images, "r:3", kNow), IsEmpty());
}

// An empty image that says of itself that it was made long ago, as `docker save` writes it. Unlike
// that of any other reference: an image with two names can lose one of them though it is used.
std::string OldImage(const std::string& reference, int day) {
  const std::string layer(1'024, '\0');
  const std::string when = fmt::format("2001-01-{:02}T00:00:00Z", day);
  const std::string config = fmt::format(
      R"({{"architecture":"amd64","os":"linux","created":"{0}","config":{{"Cmd":["/none","{2}"]}},)"
      R"("rootfs":{{"type":"layers","diff_ids":["sha256:{1}"]}},"history":[{{"created":"{0}"}}]}})",
      when, Sha256Hex(layer), reference);
  const std::string name = Sha256Hex(config) + ".json";
  const std::string manifest = fmt::format(
      R"([{{"Config":"{}","RepoTags":["{}"],"Layers":["layer.tar"]}}])", name, reference);
  std::string bytes;
  TarWriter tar([&bytes](std::string_view piece) {
    bytes += piece;
    return absl::OkStatus();
  });
  EXPECT_TRUE(tar.AddFile(name, config, false).ok());
  EXPECT_TRUE(tar.AddFile("layer.tar", layer, false).ok());
  EXPECT_TRUE(tar.AddFile("manifest.json", manifest, false).ok());
  EXPECT_TRUE(tar.Finish().ok());
  return bytes;
}

class OldImagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test::EngineSocket().empty()) GTEST_SKIP() << test::kNoEngine;
    for (int day = 1; day <= 6; ++day) {
      const absl::Status loaded =
          Get(client_.LoadImages(BodyFromString(OldImage(Reference(day), day)))).status();
      ASSERT_TRUE(loaded.ok()) << loaded;
    }
  }
  void TearDown() override {
    if (test::EngineSocket().empty()) return;
    for (int day = 1; day <= 6; ++day) Get(client_.RemoveImage(Reference(day))).IgnoreError();
  }
  template <typename T>
  T Get(Task<T> task) {
    return RunOn(loop_, std::move(task)).get();
  }
  std::string Reference(int day) const { return fmt::format("{}:{}", repository_, day); }
  std::vector<std::string> Left() {
    std::vector<std::string> references;
    const auto images = Get(client_.ListImages(repository_));
    EXPECT_TRUE(images.ok()) << images.status();
    if (!images.ok()) return {};
    for (const ImageSummary& image : *images) {
      references.insert(references.end(), image.tags.begin(), image.tags.end());
    }
    return references;
  }

  const seconds later_ = WallNow() + 2 * kKeptImageAge;  // than they were loaded
  const std::string repository_ = fmt::format("fetchbench/test-old-{}", getpid());
  IoThread loop_{"docker-test"};
  EngineClient client_{loop_.executor(), test::EngineSocket()};
};

Task<int> Remove(EngineClient client, std::string repository, std::string current, seconds now) {
  co_await RemoveSupersededImages(std::move(client), std::move(repository), std::move(current),
                                  now);
  co_return 0;
}

TEST_F(OldImagesTest, TheEngineForgetsWhatNobodyNeeds) {
  EXPECT_THAT(Left(), SizeIs(6));
  Get(Remove(client_, repository_, Reference(2), later_));
  EXPECT_THAT(Left(), UnorderedElementsAre(Reference(2), Reference(4), Reference(5), Reference(6)));
}

// Of those that are about to be used no container tells yet.
TEST_F(OldImagesTest, WhatWasTaggedOfLateStays) {
  ASSERT_TRUE(Get(client_.TagImage(Reference(1), repository_, "1")).ok());
  Get(Remove(client_, repository_, Reference(6), WallNow()));
  EXPECT_THAT(Left(), UnorderedElementsAre(Reference(1), Reference(3), Reference(4), Reference(5),
                                           Reference(6)));
}

TEST_F(OldImagesTest, WhatAContainerUsesStays) {
  const std::string name = fmt::format("fetchbench-test-old-{}", getpid());
  ASSERT_TRUE(Get(client_.CreateContainer(name, {{"Image", Reference(1)}})).ok());
  Get(Remove(client_, repository_, Reference(6), later_));
  EXPECT_THAT(Left(), UnorderedElementsAre(Reference(1), Reference(3), Reference(4), Reference(5),
                                           Reference(6)));
  EXPECT_TRUE(Get(client_.RemoveContainer(name)).ok());
}

}  // namespace
}  // namespace fetchbench::docker
