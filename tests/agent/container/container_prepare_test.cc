// How images come to be there.
#include <unistd.h>

#include "common/docker/old_images.h"
#include "tests/agent/container/container_fixture.h"

namespace fetchbench::agent {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

// Unlike any image there is.
std::string FreshContext() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return test::TargetContext(std::string(test::kTargetDockerfile) + "LABEL fresh=" +
                             std::to_string(getpid()) + "-" + std::to_string(now) + "\n");
}

class ContainerPrepareTest : public ContainerTest {
 protected:
  void Forget(const std::string& digest) { (void)Get(client_.RemoveImage(digest)); }
};

TEST_F(ContainerPrepareTest, BuildsOnceAndDescribes) {
  const std::string context = FreshContext();
  const Prepared first = PrepareTarget(context);
  ASSERT_TRUE(first.status.ok()) << first.status.error_message();
  EXPECT_TRUE(first.context_asked);
  EXPECT_THAT(first.messages, Contains(HasSubstr("FROM scratch")));
  ASSERT_TRUE(first.facts);
  EXPECT_EQ(first.facts->runtime(), "C++");
  EXPECT_THAT(first.facts->image_digest(), HasSubstr("sha256:"));
  const Prepared second = PrepareTarget(context);
  ASSERT_TRUE(second.status.ok()) << second.status.error_message();
  EXPECT_FALSE(second.context_asked);
  EXPECT_EQ(second.facts->image_digest(), first.facts->image_digest());
  EXPECT_THAT(Describe().targets(), Contains("test/scripted"));
  EXPECT_NE(Describe().host().docker(), "");
  Forget(first.facts->image_digest());
}

// What is tagged is young to those who remove what nobody uses any more.
TEST_F(ContainerPrepareTest, AnImageThatIsThereIsTaggedAgain) {
  const std::string context = FreshContext();
  const Prepared first = PrepareTarget(context);
  ASSERT_TRUE(first.facts) << first.status.error_message();
  const auto built = Get(client_.InspectImage(first.facts->image_digest()));
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_GT(built->tagged_s, 0);
  while (docker::WallNow().count() <= built->tagged_s) {  // it is told in seconds
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_FALSE(PrepareTarget(context).context_asked);
  const auto found = Get(client_.InspectImage(first.facts->image_digest()));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_GT(found->tagged_s, built->tagged_s);
  Forget(first.facts->image_digest());
}

TEST_F(ContainerPrepareTest, OtherArgumentsMakeAnotherImage) {
  const std::string context = FreshContext();
  const Prepared plain = PrepareTarget(context);
  v1::TargetSpec target = Spec(context);
  (*target.mutable_build_args())["HTTP_PROXY"] = "http://192.0.2.1/";
  const Prepared other = Prepare(*stub_, target, context, context.size());
  ASSERT_TRUE(other.status.ok()) << other.status.error_message();
  EXPECT_TRUE(other.context_asked);
  Forget(plain.facts->image_digest());
  Forget(other.facts->image_digest());
}

TEST_F(ContainerPrepareTest, TwoAtOnceBuildOnce) {
  const std::string context = FreshContext();
  Prepared other;
  std::thread thread([&] { other = PrepareTarget(context); });
  const Prepared one = PrepareTarget(context);
  thread.join();
  ASSERT_TRUE(one.status.ok()) << one.status.error_message();
  ASSERT_TRUE(other.status.ok()) << other.status.error_message();
  EXPECT_NE(one.context_asked, other.context_asked);
  Forget(one.facts->image_digest());
}

// What is wrong with an image's program is said in words that lead to it.
TEST_F(ContainerPrepareTest, AnImageWhoseProgramCannotBeStartedSaysWhy) {
  const auto trouble = [this](const std::string& dockerfile) {
    const Prepared prepared = PrepareTarget(test::TargetContext(
        dockerfile, {{"text", "no program\n"}, {"script", "#!/none/interpreter\n"}}));
    EXPECT_EQ(prepared.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << dockerfile;
    return prepared.status.error_message();
  };
  EXPECT_THAT(trouble("FROM scratch\nCOPY target /target\nCMD [\"/target\"]\n"),
              AllOf(HasSubstr("test/scripted"), HasSubstr("no ENTRYPOINT")));
  EXPECT_THAT(trouble("FROM scratch\nCOPY target /target\nENTRYPOINT [\"/other\"]\n"),
              HasSubstr("starting /other: No such file"));
  EXPECT_THAT(trouble("FROM scratch\nCOPY text /text\nENTRYPOINT [\"/text\"]\n"),
              HasSubstr("a script without a line #!"));
  EXPECT_THAT(trouble("FROM scratch\nCOPY script /script\nENTRYPOINT [\"/script\"]\n"),
              HasSubstr("starting /script: No such file or directory (its interpreter"));
  // By PATH, as execvp does it.
  EXPECT_THAT(trouble("FROM scratch\nENV PATH=/none:/bin\nCOPY text /bin/text\n"
                      "ENTRYPOINT [\"text\"]\n"),
              HasSubstr("a script without a line #!"));
  // A shell passes nothing on; the target, which says nothing when asked so, stands in for it.
  EXPECT_THAT(trouble("FROM scratch\nCOPY target /bin/sh\nENTRYPOINT /target\n"),
              HasSubstr("write it as a list"));
  EXPECT_THAT(trouble("FROM scratch\nCOPY target /target\nENTRYPOINT [\"/target\", \"--bare\"]\n"),
              AllOf(HasSubstr("--describe"), HasSubstr("'runtime'")));
  // What it says on standard error is part of it.
  EXPECT_THAT(trouble("FROM scratch\nCOPY target /target\nENV USER_AGENT=tell\n"
                      "ENTRYPOINT [\"/target\", \"x\"]\n"),
              AllOf(HasSubstr("not one JSON object"), HasSubstr("CONCURRENCY none")));
}

TEST_F(ContainerPrepareTest, AFailedBuildTellsTheStepAndLeavesNothing) {
  const std::string context = test::TargetContext("FROM scratch\nCOPY missing /\n");
  const Prepared prepared = PrepareTarget(context);
  EXPECT_EQ(prepared.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(prepared.status.error_message(),
              AllOf(HasSubstr("test/scripted"), HasSubstr("missing"), HasSubstr("Step 2/")));
  EXPECT_TRUE(PrepareTarget(context).context_asked);
}

// A coordinator that leaves ends the build, and the next one may build at once.
TEST_F(ContainerPrepareTest, ABuildThatIsGivenUpLeavesNothing) {
  const std::string context = test::TargetContext(
      "FROM scratch\nCOPY target /target\nENV USER_AGENT=stay\nRUN [\"/target\"]\n");
  for (int i = 0; i < 2; ++i) {
    const Prepared given_up =
        Prepare(*stub_, Spec(context), context, context.size(), std::chrono::seconds(8));
    EXPECT_EQ(given_up.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    EXPECT_TRUE(given_up.context_asked) << i;
  }
  v1::Start start = test::MakeStart("r");
  *start.mutable_target() = Spec(context);
  EXPECT_EQ(Run(start, {}).status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(ContainerPrepareTest, AFolderThatDidNotArriveWholeIsNotBuilt) {
  const std::string context = FreshContext();
  const v1::TargetSpec target = Spec(context);
  const std::string cut = context.substr(0, context.size() / 2);
  EXPECT_EQ(Prepare(*stub_, target, cut, context.size()).status.error_code(),
            grpc::StatusCode::DATA_LOSS);
  std::string other = context;
  other[600] ^= 1;
  EXPECT_EQ(Prepare(*stub_, target, other, other.size()).status.error_code(),
            grpc::StatusCode::DATA_LOSS);
  EXPECT_EQ(Prepare(*stub_, target, context + "more", context.size()).status.error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Prepare(*stub_, target, "", uint64_t{1} << 40).status.error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

// Refused by the agent, before the Engine sees a byte of it.
TEST_F(ContainerPrepareTest, AFolderThatReachesOutOfItselfIsNotBuilt) {
  std::string context = test::TargetContext(test::kTargetDockerfile);
  std::string link;
  docker::TarWriter tar([&link](std::string_view piece) {
    link += piece;
    return absl::OkStatus();
  });
  ASSERT_TRUE(tar.AddSymlink("out", "../../etc").ok());
  context = link + context;
  const Prepared prepared = PrepareTarget(context);
  EXPECT_EQ(prepared.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(prepared.status.error_message(), ::testing::HasSubstr("'out'"));
}

TEST_F(ContainerPrepareTest, WhatIsNotPreparedIsNotRun) {
  v1::Start start = test::MakeStart("r");
  *start.mutable_target() = Spec("a folder that nobody has");
  const grpc::Status status = Run(start, {}).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("not prepared"));
}

TEST_F(ContainerPrepareTest, TellsWhatTheImageWasBuiltOn) {
  const std::string name = fmt::format("fetchbench/test-base-{}", getpid());
  docker::BuildRequest request;
  request.name = "a base";
  request.tag = name + ":1";
  request.context = docker::BodyFromString(test::TargetContext("FROM scratch\nCOPY target /t\n"));
  const auto base = Get(client_.BuildImage(std::move(request), [](std::string_view) {}));
  ASSERT_TRUE(base.ok()) << base.status();
  const std::string context = test::TargetContext(
      fmt::format("ARG BASE=none\nFROM ${{BASE}} AS build\nFROM build\nLABEL fresh={}\nCOPY target "
                  "/target\nENTRYPOINT [\"/target\"]\n",
                  name));
  v1::TargetSpec target = Spec(context);
  (*target.mutable_build_args())["BASE"] = name + ":1";
  const Prepared built = Prepare(*stub_, target, context, context.size());
  ASSERT_TRUE(built.facts) << built.status.error_message();
  ASSERT_EQ(built.facts->base_images_size(), 1);
  EXPECT_EQ(built.facts->base_images(0).reference(), name + ":1");
  EXPECT_EQ(built.facts->base_images(0).image_id(), *base);
  EXPECT_EQ(built.facts->base_images(0).digest(), "") << "it came out of no registry";
  Forget(built.facts->image_digest());
  Get(client_.RemoveImage(name + ":1")).IgnoreError();
}

TEST_F(ContainerPrepareTest, AnImageThatIsThereIsTakenAsItIs) {
  const std::string context = FreshContext();
  const Prepared built = PrepareTarget(context);
  ASSERT_TRUE(built.facts) << built.status.error_message();
  v1::TargetSpec target;
  target.set_name("test/given");
  target.set_image(built.facts->image_digest());
  const Prepared prepared = Prepare(*stub_, target, "", 0);
  ASSERT_TRUE(prepared.status.ok()) << prepared.status.error_message();
  v1::Start start = test::MakeStart("r");
  *start.mutable_target() = target;
  EXPECT_TRUE(Run(start, test::MakeUrls(3)).finished);
  target.set_image("fetchbench/not-there:1");
  EXPECT_EQ(Prepare(*stub_, target, "", 0).status.error_code(), grpc::StatusCode::NOT_FOUND);
  Forget(built.facts->image_digest());
}

// It would run on the CPU of the target that is being measured.
TEST_F(ContainerPrepareTest, NothingIsStartedToDescribeItselfBesideARun) {
  test::RunStream stream(*stub_, ContainerStart("stay"));
  ASSERT_TRUE(stream.ReadUntil(v1::AgentMessage::kStarted));
  v1::TargetSpec target = Spec(test::TargetContext(test::kTargetDockerfile));
  const Prepared before = Prepare(*stub_, target, "", 1);  // it has done so before
  ASSERT_TRUE(before.facts) << before.status.error_message();
  target.set_name("test/other");
  target.set_image(before.facts->image_digest());
  const Prepared prepared = Prepare(*stub_, target, "", 0);
  EXPECT_EQ(prepared.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(prepared.status.error_message(), HasSubstr("busy with run"));
  EXPECT_EQ(OwnContainers().size(), 1);
}

TEST_F(ContainerPrepareTest, OneThatCannotDescribeItselfIsNotReady) {
  const std::string context =
      test::TargetContext("FROM scratch\nCOPY target /target\nENTRYPOINT [\"/nothing\"]\n");
  const Prepared prepared = PrepareTarget(context);
  EXPECT_FALSE(prepared.status.ok());
  EXPECT_THAT(prepared.status.error_message(), HasSubstr("/nothing"));
  ExpectNothingLeft();
}

TEST_F(ContainerPrepareTest, NamesThatAreNoneAreRefused) {
  v1::TargetSpec target = Spec("x");
  target.set_name("../UPPER");
  EXPECT_EQ(Prepare(*stub_, target, "x", 1).status.error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace fetchbench::agent
