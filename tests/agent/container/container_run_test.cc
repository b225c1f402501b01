// Runs in real containers that go well: what they get, what they cost, what is counted.
#include "tests/agent/container/container_fixture.h"

namespace fetchbench::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(ContainerTest, TenThousandUrlsGiveTenThousandRecords) {
  const test::RunResult result = RunContainer("", 10'000);
  ASSERT_TRUE(result.finished) << result.status.error_message();
  EXPECT_EQ(result.records.size(), 10'000);
  EXPECT_EQ(result.repeated, 0);
  EXPECT_EQ(Count(result, Outcome::kStatus), 10'000);
  EXPECT_EQ(result.finished->surplus_lines(), 0);
  EXPECT_EQ(result.finished->unparsable_lines(), 0);
  EXPECT_EQ(result.finished->target_exit_code(), 0);
  RecordProperty("agent_cpu_us", static_cast<int>(result.finished->agent_cpu_us()));
  RecordProperty("target_cpu_us", static_cast<int>(result.finished->target().user_us() +
                                                   result.finished->target().system_us()));
  RecordProperty("engine_cpu_us", static_cast<int>(result.finished->engine_cpu_us()));
  // How the sum divides is known in clock ticks only, which may all be of one kind.
  EXPECT_GT(result.finished->target().user_us() + result.finished->target().system_us(), 0);
  EXPECT_TRUE(OwnContainers().empty());  // removed before the run is over
}

TEST_F(ContainerTest, TheTargetGetsWhatTheContractSays) {
  server_.reset();
  config_.host.set_max_open_files(1'234);
  Serve();
  v1::Start start = ContainerStart("tell");
  start.mutable_options()->set_ca_pem("a certificate");
  start.mutable_options()->set_resolver("10.9.8.7:53");
  start.mutable_container()->set_open_files(1'000'000);
  const test::RunResult result = Run(start, test::MakeUrls(1));
  ASSERT_TRUE(result.finished) << result.status.error_message();
  EXPECT_THAT(
      result.finished->target_stderr(),
      AllOf(HasSubstr("CONCURRENCY 10"), HasSubstr("ca a certificate"),
            HasSubstr("SSL_CERT_FILE /etc/fetchbench-ca.pem"),
            HasSubstr("resolv nameserver 10.9.8.7"), HasSubstr("uid 65534 nofile 1234"),
            HasSubstr("root read-only tmp writable"), HasSubstr("CapEff:\t0000000000000000")));
}

TEST_F(ContainerTest, LimitsAreAppliedAndTold) {
  v1::Start start = ContainerStart("");
  start.mutable_container()->set_cpu_permille(500);
  start.mutable_container()->set_cpuset("0");
  start.mutable_container()->set_memory_bytes(64 << 20);
  start.mutable_container()->set_pids(33);
  start.mutable_container()->set_open_files(777);
  test::RunStream stream(*stub_, start);
  const auto started = stream.ReadUntil(v1::AgentMessage::kStarted);
  ASSERT_TRUE(started);
  const v1::ContainerOptions& told = started->started().container();
  EXPECT_EQ(told.cpu_permille(), 500);
  EXPECT_EQ(told.open_files(), 777);
  EXPECT_THAT(started->started().cost_basis(), HasSubstr("peak"));
  EXPECT_THAT(started->started().target().image_digest(), HasSubstr("sha256:"));
  const auto own = OwnContainers();
  ASSERT_EQ(own.size(), 1);
  EXPECT_EQ(own.front().labels.at("fetchbench.run"), start.run_id());
  const auto info = Get(client_.InspectContainer(own.front().id));
  ASSERT_TRUE(info.ok()) << info.status();
  const boost::json::object host = *docker::ObjectAt(info->raw, "HostConfig");
  EXPECT_EQ(docker::NumberAt(host, "NanoCpus"), 500'000'000);
  EXPECT_EQ(docker::StringAt(host, "CpusetCpus"), "0");
  EXPECT_EQ(docker::NumberAt(host, "Memory"), 64 << 20);
  EXPECT_EQ(docker::NumberAt(host, "MemorySwap"), 64 << 20);
  EXPECT_EQ(docker::NumberAt(host, "PidsLimit"), 33);
  EXPECT_EQ(docker::StringAt(host, "NetworkMode"), "none");
  const std::string text = docker::Serialize(host);
  EXPECT_THAT(text, AllOf(HasSubstr(R"("CapDrop":["ALL"])"), HasSubstr("no-new-privileges"),
                          HasSubstr(R"("ReadonlyRootfs":true)"), HasSubstr(R"("Init":true)"),
                          HasSubstr(R"("Type":"none")"), HasSubstr(R"("Hard":777)")));
  stream.SendCancel();
  EXPECT_TRUE(stream.ReadUntil(v1::AgentMessage::kFinished));
  ExpectNothingLeft();
}

TEST_F(ContainerTest, CostIsTheContainersOwn) {
  const test::RunResult result = RunContainer("burn=300 eat=100 sockets=5", 2);
  ASSERT_TRUE(result.finished) << result.status.error_message();
  const v1::TargetUsage& usage = result.finished->target();
  EXPECT_GT(usage.user_us() + usage.system_us(), 250'000);
  EXPECT_GT(usage.peak_rss_bytes(), 100U << 20);
  EXPECT_LT(usage.peak_rss_bytes(), 400U << 20);
}

TEST_F(ContainerTest, OpenSocketsAreCountedWhileItRuns) {
  v1::Start start = ContainerStart("sockets=7 stay");
  start.set_progress_interval_ms(50);
  test::RunStream stream(*stub_, start);
  uint32_t sockets = 0;
  for (int i = 0; i < 200 && sockets < 7; ++i) {
    const auto message = stream.ReadUntil(v1::AgentMessage::kProgress);
    ASSERT_TRUE(message);
    sockets = message->progress().target().open_sockets();
  }
  EXPECT_GE(sockets, 7);
  stream.SendCancel();
  EXPECT_TRUE(stream.ReadUntil(v1::AgentMessage::kFinished));
}

TEST_F(ContainerTest, OptionsWithoutAMeaningInAContainerAreRefused) {
  v1::Start start = ContainerStart("");
  start.mutable_options()->add_connect_to("a:1:b:2");
  EXPECT_EQ(Run(start, {}).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  start.mutable_options()->clear_connect_to();
  start.mutable_options()->set_resolver("127.0.0.1:5353");
  EXPECT_EQ(Run(start, {}).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  start.mutable_options()->clear_resolver();
  start.mutable_container()->set_memory_bytes(1);
  EXPECT_EQ(Run(start, {}).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ContainerTest, StoppingTheAgentRemovesTheContainer) {
  test::RunStream stream(*stub_, ContainerStart("stay"));
  ASSERT_TRUE(stream.ReadUntil(v1::AgentMessage::kStarted));
  EXPECT_EQ(OwnContainers().size(), 1);
  server_->Stop();
  EXPECT_TRUE(OwnContainers().empty());
}

}  // namespace
}  // namespace fetchbench::agent
