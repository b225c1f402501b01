// How an image comes from one agent to another: out of the Engine, over the protocol, into it
// again.
#include <unistd.h>

#include "tests/agent/container/container_fixture.h"

namespace fetchbench::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr size_t kPiece = 256 << 10;

class ContainerShipTest : public ContainerTest {
 protected:
  void SetUp() override {
    ContainerTest::SetUp();
    if (IsSkipped()) return;
    // Unlike any image there is.
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    context_ = test::TargetContext(
        fmt::format("{}LABEL fresh={}-{}\n", test::kTargetDockerfile, getpid(), now));
    const Prepared built = PrepareTarget(context_);
    ASSERT_TRUE(built.status.ok()) << built.status.error_message();
    id_ = built.facts->image_digest();
  }
  void TearDown() override {
    if (!id_.empty()) Get(client_.RemoveImage(id_)).IgnoreError();
  }

  v1::ImageFound Look(const std::string& id = "") {
    v1::PrepareRequest request;
    *request.mutable_start()->mutable_target() = Spec(context_);
    request.mutable_start()->set_image_id(id);
    request.mutable_start()->set_look(true);
    grpc::ClientContext call;
    auto stream = stub_->Prepare(&call);
    stream->Write(request);
    v1::PrepareProgress progress;
    while (stream->Read(&progress) && !progress.has_found()) {
    }
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
    return progress.found();
  }

  grpc::Status Export(const std::string& id, std::string& bytes) {
    grpc::ClientContext call;
    auto stream = stub_->ExportImage(&call);
    v1::ExportImageRequest request;
    *request.mutable_target() = Spec(context_);
    request.set_image_id(id);
    stream->Write(request);
    stream->WritesDone();
    v1::ImagePiece piece;
    while (stream->Read(&piece)) {
      EXPECT_LE(piece.data().size(), kPiece);
      bytes += piece.data();
    }
    return stream->Finish();
  }

  struct Taken {
    grpc::Status status;
    bool asked = false;
    std::string digest;
  };
  // As a coordinator does that wants the image with this id there.
  Taken Take(const std::string& id, const std::string& archive) {
    Taken result;
    grpc::ClientContext call;
    auto stream = stub_->Prepare(&call);
    v1::PrepareRequest request;
    *request.mutable_start()->mutable_target() = Spec(context_);
    request.mutable_start()->set_image_id(id);
    stream->Write(request);
    v1::PrepareProgress progress;
    while (stream->Read(&progress)) {
      if (progress.ready()) result.digest = progress.facts().image_digest();
      if (!progress.send_image()) continue;
      result.asked = true;
      for (size_t at = 0; at < archive.size(); at += kPiece) {
        v1::PrepareRequest piece;
        piece.set_image(archive.substr(at, kPiece));
        if (!stream->Write(piece)) break;
      }
      stream->WritesDone();
    }
    result.status = stream->Finish();
    return result;
  }

  // Another image of the same folder, under that name; its id.
  std::string BuildOver(const std::string& tag) {
    docker::BuildRequest request;
    request.name = "another image";
    request.context = docker::BodyFromString(test::TargetContext("FROM " + tag + "\n"));
    request.tag = tag;
    request.labels["by"] = "hand";
    const auto id = Get(client_.BuildImage(std::move(request), [](std::string_view) {}));
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or("");
  }

  std::string context_;
  std::string id_;
};

TEST_F(ContainerShipTest, AnImageThatIsGoneComesBackAsTheSame) {
  EXPECT_EQ(Look().image_id(), id_);
  EXPECT_GT(Look().image_bytes(), 0U);
  std::string archive;
  const grpc::Status exported = Export(id_, archive);
  ASSERT_TRUE(exported.ok()) << exported.error_message();
  EXPECT_GT(archive.size(), Look().image_bytes());
  ASSERT_TRUE(Get(client_.RemoveImage(id_)).ok());
  EXPECT_EQ(Look().image_id(), "");
  const Taken taken = Take(id_, archive);
  ASSERT_TRUE(taken.status.ok()) << taken.status.error_message();
  EXPECT_TRUE(taken.asked);
  EXPECT_EQ(taken.digest, id_);
  EXPECT_EQ(Look().image_id(), id_);
}

// Two agents may have one Engine: what the other one loaded meanwhile is taken as it is.
TEST_F(ContainerShipTest, AnImageThatIsThereIsNotAskedFor) {
  EXPECT_FALSE(Take(id_, "").asked);
  const docker::ImageInfo image = *Get(client_.InspectImage(id_));
  ASSERT_TRUE(Get(client_.TagImage(id_, "fetchbench/test-other", "x")).ok());
  ASSERT_TRUE(Get(client_.RemoveImage(image.tags.at(0))).ok());
  EXPECT_EQ(Look().image_id(), "");
  const Taken taken = Take(id_, "");
  EXPECT_TRUE(taken.status.ok()) << taken.status.error_message();
  EXPECT_FALSE(taken.asked);
  EXPECT_EQ(Look().image_id(), id_);
  ASSERT_TRUE(Get(client_.RemoveImage("fetchbench/test-other:x")).ok());
}

// Somebody's build by hand takes the name over; the image that the fleet runs is still there.
TEST_F(ContainerShipTest, AnImageThatLostItsNameIsFoundHandedOutAndTakenByItsId) {
  const std::string tag = Get(client_.InspectImage(id_))->tags.at(0);
  ASSERT_TRUE(Get(client_.TagImage(id_, "fetchbench/test-other", "y")).ok());
  const std::string other = BuildOver(tag);
  EXPECT_EQ(Look().image_id(), other);
  EXPECT_EQ(Look(id_).image_id(), id_);
  EXPECT_EQ(Look("sha256:" + std::string(64, '1')).image_id(), other);
  std::string bytes;
  EXPECT_TRUE(Export(id_, bytes).ok());
  const Taken taken = Take(id_, "");
  EXPECT_TRUE(taken.status.ok()) << taken.status.error_message();
  EXPECT_EQ(taken.digest, id_);
  EXPECT_EQ(Look().image_id(), id_);
  ASSERT_TRUE(Get(client_.RemoveImage("fetchbench/test-other:y")).ok());
}

TEST_F(ContainerShipTest, AnImageThatWasReplacedAfterItWasMadeReadyIsNotStarted) {
  v1::Start start = test::MakeStart("r");
  *start.mutable_target() = Spec(context_);
  start.mutable_container()->set_network_mode("none");
  (*start.mutable_image_ids())[config_.host.architecture()] = id_;
  EXPECT_TRUE(Run(start, test::MakeUrls(3)).finished);
  const std::string other = BuildOver(Get(client_.InspectImage(id_))->tags.at(0));
  start.set_run_id("s");
  const test::RunResult refused = Run(start, test::MakeUrls(3));
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.status.error_message(), AllOf(HasSubstr(id_), HasSubstr(other)));
  EXPECT_TRUE(OwnContainers().empty()) << "not even to describe itself";
  (*start.mutable_image_ids())[config_.host.architecture()] = other;
  EXPECT_TRUE(Run(start, test::MakeUrls(3)).finished);
  Get(client_.RemoveImage(other)).IgnoreError();
}

TEST_F(ContainerShipTest, AnotherImageThanWasAnnouncedIsRefusedAndRemoved) {
  std::string archive;
  ASSERT_TRUE(Export(id_, archive).ok());
  ASSERT_TRUE(Get(client_.RemoveImage(id_)).ok());
  const std::string other = "sha256:" + std::string(64, '1');
  const Taken taken = Take(other, archive);
  EXPECT_EQ(taken.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(taken.status.error_message(), AllOf(HasSubstr(id_), HasSubstr(other)));
  EXPECT_TRUE(absl::IsNotFound(Get(client_.InspectImage(id_)).status()));
}

// Whoever could load names could put an image of theirs where a later build starts from.
TEST_F(ContainerShipTest, AnArchiveWithANameIsRefusedBeforeTheEngineSeesIt) {
  auto body = Get(client_.ExportImage(Get(client_.InspectImage(id_))->tags.at(0)));
  ASSERT_TRUE(body.ok()) << body.status();
  std::string archive;
  while (true) {
    const auto piece = Get(body->Read());
    ASSERT_TRUE(piece.ok()) << piece.status();
    if (piece->empty()) break;
    archive += *piece;
  }
  ASSERT_TRUE(Get(client_.RemoveImage(id_)).ok());
  const Taken taken = Take(id_, archive);
  EXPECT_EQ(taken.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(taken.status.error_message(), HasSubstr("name"));
  EXPECT_EQ(Look().image_id(), "");
}

TEST_F(ContainerShipTest, OnlyTheImageOfTheTargetIsHandedOut) {
  std::string bytes;
  const std::string other = "sha256:" + std::string(64, '1');
  EXPECT_EQ(Export(other, bytes).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Export("debian:12", bytes).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Export("", bytes).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(bytes, "");
}

TEST_F(ContainerShipTest, AnArchiveThatIsCutShortIsNotLoaded) {
  std::string archive;
  ASSERT_TRUE(Export(id_, archive).ok());
  ASSERT_TRUE(Get(client_.RemoveImage(id_)).ok());
  EXPECT_EQ(Take(id_, archive.substr(0, archive.size() / 2)).status.error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Take(id_, "").status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Look().image_id(), "");
}

}  // namespace
}  // namespace fetchbench::agent
