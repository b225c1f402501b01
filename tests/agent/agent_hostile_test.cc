// Coordinators that break the protocol.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agent/url_book.h"
#include "tests/agent/agent_server_fixture.h"

namespace fetchbench::agent {
namespace {

using test::Drive;
using test::MakeStart;
using test::MakeUrls;
using test::RunResult;
using test::RunStream;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

v1::CoordinatorMessage LeaseMessage(const std::function<void(v1::Lease&)>& change) {
  v1::CoordinatorMessage message;
  v1::Lease& lease = *message.mutable_lease();
  lease.set_lease_id(1);
  for (int i = 0; i < 3; ++i) {
    lease.add_index_delta(1);
    lease.add_url(fmt::format("https://u{}.test/", i));
  }
  change(lease);
  return message;
}

TEST_F(AgentServerTest, MalformedLeasesFailTheRunAndNotTheAgent) {
  Serve();
  const std::vector<v1::CoordinatorMessage> bad = {
      LeaseMessage([](v1::Lease& l) { l.add_url("https://more.test/"); }),
      LeaseMessage([](v1::Lease& l) { l.add_index_delta(1); }),
      LeaseMessage([](v1::Lease& l) { l.set_index_delta(1, 0); }),
      LeaseMessage([](v1::Lease& l) { l.set_index_delta(0, -5); }),
      LeaseMessage([](v1::Lease& l) { l.set_index_delta(2, INT64_MAX); }),
      v1::CoordinatorMessage(),
  };
  for (size_t i = 0; i < bad.size(); ++i) {
    RunStream stream(*stub_, MakeStart(fmt::format("bad{}", i)));
    stream.Send(bad[i]);
    const RunResult r = Drive(stream, MakeUrls(10));
    ASSERT_TRUE(r.failed.has_value()) << i << ": " << r.status.error_message();
    EXPECT_EQ(r.failed->code(), static_cast<int>(absl::StatusCode::kInvalidArgument))
        << r.failed->message();
  }
  EXPECT_THAT(Run("", 5).records, SizeIs(5));
}

TEST_F(AgentServerTest, InventedAckAndSecondStartFailTheRun) {
  Serve();
  {
    RunStream stream(*stub_, MakeStart("ack"));
    stream.SendAck(12'345);
    EXPECT_THAT(Drive(stream, MakeUrls(10)).failed->message(), HasSubstr("batch 12345"));
  }
  RunStream stream(*stub_, MakeStart("start"));
  stream.SendStart(MakeStart("start"));
  EXPECT_THAT(Drive(stream, MakeUrls(10)).failed->message(), HasSubstr("Start came twice"));
}

TEST_F(AgentServerTest, FirstMessageMustBeAnAcceptableStart) {
  Serve();
  const auto answer = [this](const std::function<void(v1::CoordinatorMessage&)>& change) {
    grpc::ClientContext context;
    const auto stream = stub_->Execute(&context);
    v1::CoordinatorMessage message;
    *message.mutable_start() = MakeStart("r");
    change(message);
    stream->Write(message);
    v1::AgentMessage in;
    while (stream->Read(&in)) {
    }
    return stream->Finish();
  };
  using M = v1::CoordinatorMessage;
  const std::vector<std::function<void(M&)>> bad = {
      [](M& m) { m.mutable_finish(); },
      [](M& m) { m.mutable_ack(); },
      [](M& m) { m.Clear(); },
      [](M& m) { m.mutable_start()->clear_run_id(); },
      [](M& m) { m.mutable_start()->set_run_id(std::string(10'000, 'r')); },
      [](M& m) { m.mutable_start()->set_run_id("r\n[info] all is well"); },
      [](M& m) { m.mutable_start()->set_last_committed_seq(UINT64_MAX); },
      [](M& m) { m.mutable_start()->set_orphan_timeout_ms(UINT32_MAX); },
      [](M& m) {
        for (int i = 0; i < 100; ++i) {
          (*m.mutable_start()->mutable_image_ids())[std::to_string(i)] = "sha256:1";
        }
      },
      [](M& m) { (*m.mutable_start()->mutable_image_ids())["x86_64"] = std::string(10'000, 'x'); },
      [](M& m) { m.mutable_start()->mutable_options()->set_concurrency(0); },
      [](M& m) { m.mutable_start()->mutable_options()->set_concurrency(UINT32_MAX); },
      [](M& m) { m.mutable_start()->mutable_options()->set_timeout_ms(UINT32_MAX); },
  };
  for (size_t i = 0; i < bad.size(); ++i) {
    EXPECT_EQ(answer(bad[i]).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << i;
  }
  const grpc::Status unknown =
      answer([](M& m) { m.mutable_start()->mutable_target()->set_name("nativ"); });
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(unknown.error_message(), AllOf(HasSubstr("'nativ'"), HasSubstr("offers native")));
}

TEST_F(AgentServerTest, StreamThatSaysNothingIsEnded) {
  Serve();
  grpc::ClientContext context;
  const auto stream = stub_->Execute(&context);
  v1::AgentMessage in;
  EXPECT_FALSE(stream->Read(&in));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

// Each URL of nothing becomes a record at once, which stays until it is acknowledged.
TEST_F(AgentServerTest, LeasesWithoutEndFailTheRunAndNotTheAgent) {
  Serve();
  const auto lease_of = [](uint64_t id, int urls) {
    v1::CoordinatorMessage message;
    v1::Lease& lease = *message.mutable_lease();
    lease.set_lease_id(id);
    for (int i = 0; i < urls; ++i) {
      lease.add_index_delta(i == 0 ? static_cast<int64_t>(id * 1'000'000) : 1);
      lease.add_url("");
    }
    return message;
  };
  {
    RunStream stream(*stub_, MakeStart("large"));
    stream.Send(lease_of(1, kMaxLeaseUrls + 1));
    const RunResult r = Drive(stream, {});
    ASSERT_TRUE(r.failed) << r.status.error_message();
    EXPECT_THAT(r.failed->message(), HasSubstr("at most"));
  }
  RunStream stream(*stub_, MakeStart("many"));
  const auto leases = static_cast<uint64_t>(kMaxUncommittedUrls / kMaxLeaseUrls) + 1;
  for (uint64_t id = 1; id <= leases; ++id) stream.Send(lease_of(id, kMaxLeaseUrls));
  const RunResult r = Drive(stream, {});
  ASSERT_TRUE(r.failed) << r.status.error_message();
  EXPECT_EQ(r.failed->code(), static_cast<int>(absl::StatusCode::kResourceExhausted));
  EXPECT_LE(r.records.size(), kMaxUncommittedUrls);
  EXPECT_THAT(Run("", 5).records, SizeIs(5));
}

TEST_F(AgentServerTest, MessagesAndHeadersThatAreTooLargeEndTheirCall) {
  Serve();
  {
    grpc::ClientContext context;
    const auto stream = stub_->Execute(&context);
    v1::CoordinatorMessage message;
    message.mutable_cancel()->set_reason(std::string(kMaxRequestBytes + 1, 'r'));
    stream->Write(message);
    v1::AgentMessage in;
    while (stream->Read(&in)) {
    }
    EXPECT_FALSE(stream->Finish().ok());
  }
  {
    grpc::ClientContext context;
    context.AddMetadata("padding", std::string(4 * kMaxMetadataBytes, 'p'));
    v1::DescribeResponse response;
    EXPECT_FALSE(stub_->Describe(&context, {}, &response).ok());
  }
  stub_ = MakeStub();  // such headers can end their connection, and a next call on it
  EXPECT_THAT(Run("", 5).records, SizeIs(5));
}

TEST_F(AgentServerTest, ManySilentStreamsAllEnd) {
  config_.start_patience = std::chrono::milliseconds(100);
  Serve();
  constexpr int kStreams = 10 * kMaxStreamsPerConnection;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReaderWriter<v1::CoordinatorMessage, v1::AgentMessage>>>
      streams;
  for (int i = 0; i < kStreams; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    streams.push_back(stub_->Execute(contexts.back().get()));
  }
  v1::AgentMessage in;
  for (const auto& stream : streams) {
    EXPECT_FALSE(stream->Read(&in));
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  EXPECT_THAT(Run("", 5).records, SizeIs(5));
}

TEST_F(AgentServerTest, GiantAndUnusualUrlsPassOrAreRecords) {
  Serve();
  const std::vector<std::string> urls = {"https://a.test/" + std::string(100'000, 'x'),
                                         "https://b.test/a,b,c?d=1,2",
                                         "https://c.test/\xff\xfe",
                                         "https://d.test/\nGET / HTTP/1.1",
                                         "",
                                         "{\"url\":\"x\"}",
                                         "https://e.test/\"quoted\""};
  const RunResult r = Run(MakeStart("r"), urls);
  ASSERT_THAT(r.records, SizeIs(urls.size()))
      << (r.failed ? r.failed->message() : r.status.error_message());
  EXPECT_EQ(r.records.at(0).outcome, Outcome::kStatus);
  EXPECT_EQ(r.records.at(1).outcome, Outcome::kStatus);
  EXPECT_EQ(r.records.at(2).outcome, Outcome::kStatus);
  EXPECT_EQ(r.records.at(3).outcome, Outcome::kInvalidUrl);
  EXPECT_EQ(r.records.at(4).outcome, Outcome::kInvalidUrl);
  EXPECT_EQ(r.records.at(6).outcome, Outcome::kStatus);
}

}  // namespace
}  // namespace fetchbench::agent
