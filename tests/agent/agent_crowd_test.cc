// Strangers who take all the places that there are for connections, and say nothing.

#include <chrono>
#include <map>
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
