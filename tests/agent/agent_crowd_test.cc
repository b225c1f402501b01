// Strangers who take all the places that there are for connections, and say nothing.

#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "agent/connection_book.h"
#include "tests/agent/agent_server_fixture.h"
#include "tests/support/idle_crowd.h"
#include "tests/support/scrape.h"

namespace fetchbench::agent {
namespace {

using testing::IdleCrowd;
using ::testing::SizeIs;

class AgentCrowdTest : public AgentServerTest {
 protected:
  AgentCrowdTest() { testing::AllowManyOpenFiles(); }

  // A coordinator that has just come.
  grpc::Status DescribeAnew() const {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    v1::DescribeResponse response;
    return MakeStub()->Describe(&context, {}, &response);
  }

  double Metric(const char* name) const { return test::Scrape(server_->metrics_url()).at(name); }

  void AwaitMetric(const char* name, double at_least) const {
    for (int i = 0; i < 1'500 && Metric(name) < at_least; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_GE(Metric(name), at_least) << name;
  }
};

TEST_F(AgentCrowdTest, SilentConnectionsWithoutEndKeepNoCoordinatorOut) {
  config_.metrics = "0";
  Serve("127.0.0.1:0");
  IdleCrowd crowd(server_->address());
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(crowd.Grow(kMaxConnections / 2 + 20));
    const grpc::Status status = DescribeAnew();
    EXPECT_TRUE(status.ok()) << round << ": " << status.error_message();
  }
  stub_ = MakeStub();
  EXPECT_THAT(Run("", 50).records, SizeIs(50));
  AwaitMetric("fetchbench_agent_connections_ended_total", 100);
  EXPECT_LE(Metric("fetchbench_agent_connections"), kMaxConnections);
  EXPECT_EQ(Metric("fetchbench_agent_connections_refused_total"), 0);
}

TEST_F(AgentCrowdTest, ARunsConnectionIsNotEndedForOthers) {
  config_.metrics = "0";
  Serve("127.0.0.1:0");
  test::RunStream stream(*stub_, test::MakeStart("r"));
  ASSERT_TRUE(stream.ReadUntil(v1::AgentMessage::kStarted));
  // They have had a call like it, from the same address, and are newer.
  std::vector<std::unique_ptr<v1::Agent::Stub>> idle;
  for (size_t i = 0; i < kMaxConnections + 20; ++i) {
    grpc::ClientContext context;
    v1::DescribeResponse response;
    idle.push_back(MakeStub());
    ASSERT_TRUE(idle.back()->Describe(&context, {}, &response).ok()) << i;
  }
  IdleCrowd crowd(server_->address());
  ASSERT_TRUE(crowd.Grow(kMaxConnections + 20));
  AwaitMetric("fetchbench_agent_connections_ended_total", kMaxConnections);
  const test::RunResult result = test::Drive(stream, test::MakeUrls(100));
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_THAT(result.records, SizeIs(100));
}

// A call of a service that is gRPC's own, which goes on as long as its caller likes.
class HealthWatch {
 public:
  explicit HealthWatch(const std::string& address)
      : stub_(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                        ClientChannelArguments())),
        call_(stub_.PrepareCall(&context_, "/grpc.health.v1.Health/Watch", &queue_)) {
    call_->StartCall(this);
    Next();
    const grpc::Slice empty("");
    call_->WriteLast(grpc::ByteBuffer(&empty, 1), grpc::WriteOptions(), this);
    Next();
    grpc::ByteBuffer first;
    call_->Read(&first, this);
    told_ = Next();
  }

  bool told() const { return told_; }
  // Whether nothing has ended the call, as far as is heard within `patience`.
  bool GoesOn(std::chrono::milliseconds patience) {
    grpc::Status status;
    call_->Finish(&status, this);
    void* tag = nullptr;
    bool ok = false;
    const auto deadline = std::chrono::system_clock::now() + patience;
    const bool goes_on = queue_.AsyncNext(&tag, &ok, deadline) == grpc::CompletionQueue::TIMEOUT;
    context_.TryCancel();
    if (goes_on) Next();
    return goes_on;
  }

 private:
  bool Next() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  bool told_ = false;
};

TEST_F(AgentCrowdTest, ACallOfGrpcsOwnServicesIsACallToo) {
  config_.metrics = "0";
  Serve("127.0.0.1:0");
  HealthWatch watch(server_->address());
  ASSERT_TRUE(watch.told());
  IdleCrowd crowd(server_->address());
  ASSERT_TRUE(crowd.Grow(kMaxConnections + 50));
  AwaitMetric("fetchbench_agent_connections_ended_total", 50);
  EXPECT_TRUE(watch.GoesOn(std::chrono::milliseconds(500)));
}

TEST_F(AgentCrowdTest, WhoHasManyPlacesPaysForThemAndNotTheOnesThatHaveFew) {
  Serve("127.0.0.1:0");
  IdleCrowd few(server_->address(), "127.0.0.2");
  ASSERT_TRUE(few.Grow(3));
  IdleCrowd many(server_->address(), "127.0.0.3");
  ASSERT_TRUE(many.Grow(kMaxConnections + 40));
  for (int i = 0; i < 1'500 && many.Ended() < 40; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_GE(many.Ended(), 40u);
  EXPECT_EQ(few.Ended(), 0u);
}

// The names of peers are other ones there.
TEST_F(AgentCrowdTest, ARunsConnectionByIpv6IsKnownToo) {
  config_.metrics = "0";
  auto server = AgentServer::Start(config_, "[::1]:0");
  if (!server.ok()) GTEST_SKIP() << "no IPv6 here: " << server.status();
  server_ = *std::move(server);
  stub_ = MakeStub();
  test::RunStream stream(*stub_, test::MakeStart("r"));
  ASSERT_TRUE(stream.ReadUntil(v1::AgentMessage::kStarted));
  const size_t colon = server_->address().rfind(':');
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(static_cast<uint16_t>(std::stoi(server_->address().substr(colon + 1))));
  to.sin6_addr = in6addr_loopback;
  std::vector<Fd> crowd;
  for (size_t i = 0; i < kMaxConnections + 50; ++i) {
    crowd.emplace_back(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(crowd.back().get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  AwaitMetric("fetchbench_agent_connections_ended_total", 50);
  const test::RunResult result = test::Drive(stream, test::MakeUrls(100));
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_THAT(result.records, SizeIs(100));
}

}  // namespace
}  // namespace fetchbench::agent
