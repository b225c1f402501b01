// What the daemon tells Prometheus.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>

#include "tests/agent/agent_server_fixture.h"
#include "tests/support/scrape.h"

namespace fetchbench::agent {
namespace {

using test::MakeStart;
using test::MakeUrls;
using test::RunStream;
using test::Scrape;
using Samples = std::map<std::string, double>;

class AgentMetricsTest : public AgentServerTest {
 protected:
  AgentMetricsTest() { config_.metrics = "0"; }

  // The figures, once `name` has come to `value`.
  Samples WaitFor(const std::string& name, double value) {
    Samples samples;
    for (int i = 0; i < 500; ++i) {
      samples = Scrape(server_->metrics_url());
      const auto found = samples.find(name);
      if (found != samples.end() && found->second == value) return samples;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ADD_FAILURE() << name << " is " << samples[name] << ", not " << value;
    return samples;
  }
};

TEST_F(AgentMetricsTest, AreServedOnlyWhenAskedFor) {
  config_.metrics.clear();
  Serve();
  EXPECT_EQ(server_->metrics_url(), "");
}

TEST_F(AgentMetricsTest, CountRunsAndUrlsByOutcome) {
  Serve();
  const Samples before = WaitFor("fetchbench_agent_runs_active", 0);
  EXPECT_EQ(before.at("fetchbench_agent_urls_total{outcome=\"status\"}"), 0);
  EXPECT_EQ(before.at("fetchbench_agent_build_info{version=\"1.2.3\"}"), 1);
  Run(MakeStart("r1", "jsonl"), MakeUrls(300));
  Run(MakeStart("r2", "jsonl"), MakeUrls(200));
  const Samples after = WaitFor("fetchbench_agent_runs_total{result=\"finished\"}", 2);
  EXPECT_EQ(after.at("fetchbench_agent_urls_total{outcome=\"status\"}"), 500);
  EXPECT_EQ(after.at("fetchbench_agent_urls_started_total"), 500);
  EXPECT_EQ(after.at("fetchbench_agent_fetch_duration_seconds_count"), 500);
  EXPECT_EQ(after.at("fetchbench_agent_urls_in_flight"), 0);
  EXPECT_EQ(after.at("fetchbench_agent_runs_active"), 0);
  EXPECT_GT(after.at("fetchbench_agent_updated_timestamp_seconds"), 1.7e9);
  EXPECT_GT(after.at("fetchbench_agent_resident_memory_bytes"), 1e6);
}

TEST_F(AgentMetricsTest, ShowARunUnderWayAndItsReconnect) {
  Serve();
  auto first = std::make_unique<RunStream>(*stub_, MakeStart("r", "deaf"));
  ASSERT_TRUE(first->ReadUntil(v1::AgentMessage::kCredit));
  ASSERT_TRUE(first->SendLease(1, 0, MakeUrls(3)));
  const Samples running = WaitFor("fetchbench_agent_urls_in_flight", 3);
  EXPECT_EQ(running.at("fetchbench_agent_runs_active"), 1);
  EXPECT_EQ(running.at("fetchbench_agent_coordinator_attached"), 1);
  first->Abort();
  first.reset();
  WaitFor("fetchbench_agent_coordinator_attached", 0);
  RunStream second(*stub_, MakeStart("r", "deaf"));
  ASSERT_TRUE(second.ReadUntil(v1::AgentMessage::kStarted));
  WaitFor("fetchbench_agent_reconnects_total", 1);
  RunStream refused(*stub_, MakeStart("other"));
  refused.End();
  WaitFor("fetchbench_agent_streams_refused_total", 1);
  ASSERT_TRUE(second.SendCancel());
  while (second.Read()) {
  }
  const Samples after = WaitFor("fetchbench_agent_runs_active", 0);
  EXPECT_EQ(after.at("fetchbench_agent_runs_total{result=\"cancelled\"}"), 1);
}

TEST_F(AgentMetricsTest, AnAddressThatIsTakenIsAnErrorThatNamesIt) {
  Serve();
  const std::string url = server_->metrics_url();
  AgentConfig config = config_;
  const size_t begin = url.find("127.");
  config.metrics = url.substr(begin, url.rfind('/') - begin);
  const auto second = AgentServer::Start(config, "unix:" + folder_ + "/other.sock");
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(std::string(second.status().message()), ::testing::HasSubstr(config.metrics));
}

}  // namespace
}  // namespace fetchbench::agent
