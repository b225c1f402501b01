#include "agent/container/base_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace fetchbench::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::vector<std::pair<std::string, std::string>> Seen(const std::vector<std::string>& lines,
                                                      docker::Labels build_args = {}) {
  BaseImageReader reader(std::move(build_args));
  for (const std::string& line : lines) reader.OnLine(line);
  std::vector<std::pair<std::string, std::string>> seen;
  for (const BaseSeen& base : reader.seen()) seen.emplace_back(base.reference, base.id);
  return seen;
}

// As the classic builder of Docker 20.10 prints it.
TEST(BaseImageReaderTest, TakesTheResultOfEachFrom) {
  const std::vector<std::string> output{
      "Step 1/9 : ARG GO_IMAGE=golang:1-alpine",
      "Step 2/9 : ARG RUNTIME_IMAGE=\"debian:12\"",
      "Step 3/9 : FROM ${GO_IMAGE} AS build",
      "1-alpine: Pulling from library/golang",
      "Digest: sha256:1111",
      " ---> 06190296aa3c",
      "Step 4/9 : RUN go build",
      " ---> Running in 0123456789ab",
      " ---> aaaaaaaaaaaa",
      "Step 5/9 : FROM build",
      " ---> aaaaaaaaaaaa",
      "Step 6/9 : FROM scratch",
      " ---> ",
      "Step 7/9 : FROM --platform=linux/amd64 $RUNTIME_IMAGE",
      " ---> 1f894568cb2a",
      "Step 8/9 : COPY --from=build /x /x",
      " ---> Using cache",
      " ---> bbbbbbbbbbbb",
  };
  EXPECT_THAT(Seen(output), ElementsAre(Pair("golang:1-alpine", "06190296aa3c"),
                                        Pair("debian:12", "1f894568cb2a")));
  EXPECT_THAT(
      Seen(output, {{"GO_IMAGE", "fetchbench-base/go:1"}}),
      ElementsAre(Pair("fetchbench-base/go:1", "06190296aa3c"), Pair("debian:12", "1f894568cb2a")));
}

TEST(BaseImageReaderTest, NamesEachOnceAndNotAnyNumber) {
  const std::vector<std::string> twice{"Step 1/2 : from debian:12", " ---> 1f894568cb2a",
                                       "Step 2/2 : FROM debian:12", " ---> 1f894568cb2a"};
  EXPECT_EQ(Seen(twice).size(), 1u);
  std::vector<std::string> many;
  for (int i = 0; i < 100; ++i) {
    many.push_back("Step " + std::to_string(i) + "/100 : FROM a:" + std::to_string(i));
    many.emplace_back(" ---> 1f894568cb2a");
  }
  EXPECT_EQ(Seen(many).size(), kMaxBaseImages);
}

// A step may print anything.
TEST(BaseImageReaderTest, OtherOutputIsNotTakenForAResult) {
  EXPECT_THAT(Seen({"Step", "Step 1", " ---> 1f894568cb2a", "Step 2/3 : ", "Step 2/3 : FROM",
                    "Step 3/3 : FROM debian:12", " ---> not an id", " ---> 1f894568cb2a"}),
              IsEmpty());
}

TEST(BaseImageTest, TheDigestIsThatOfTheNameThatWasUsed) {
  docker::ImageInfo image;
  image.id = "sha256:1";
  EXPECT_EQ(BaseImageOf("fetchbench-base/go:1", image).digest(), "");
  image.digests = {"mirror.example:5000/golang@sha256:a", "golang@sha256:b"};
  EXPECT_EQ(BaseImageOf("golang:1-alpine", image).digest(), "sha256:b");
  EXPECT_EQ(BaseImageOf("golang@sha256:b", image).digest(), "sha256:b");
  EXPECT_EQ(BaseImageOf("mirror.example:5000/golang", image).digest(), "sha256:a");
  EXPECT_EQ(BaseImageOf("docker.io/library/golang:1", image).digest(), "sha256:a");
  EXPECT_EQ(BaseImageOf("golang:1", image).image_id(), "sha256:1");
}

TEST(BaseImageTest, ComesBackFromLabelsAsItWasWritten) {
  docker::ImageInfo image;
  image.id = "sha256:1";
  std::vector<v1::BaseImage> bases{BaseImageOf("fetchbench-base/go:1", image)};
  image.digests = {"debian@sha256:d"};
  bases.push_back(BaseImageOf("debian:12", image));
  docker::Labels labels = BaseImageLabels(bases);
  labels["fetchbench.target"] = "go/net-http";
  const std::vector<v1::BaseImage> back = BaseImagesOf(labels);
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].SerializeAsString(), bases[0].SerializeAsString());
  EXPECT_EQ(back[1].SerializeAsString(), bases[1].SerializeAsString());
}

TEST(BaseImageTest, LabelsOfOthersAreNotBelieved) {
  docker::Labels labels{{"fetchbench.base.00", "one word"},
                        {"fetchbench.base.01", "a b " + std::string(10'000, 'x')}};
  for (int i = 10; i < 99; ++i) labels["fetchbench.base." + std::to_string(i)] = "a b -";
  EXPECT_EQ(BaseImagesOf(labels).size(), kMaxBaseImages);
}

}  // namespace
}  // namespace fetchbench::agent
