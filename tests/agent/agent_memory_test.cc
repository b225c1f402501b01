// Peers that were let in and try to fill an agent's memory: the agent is a program of its own here,
// so that what it takes can be measured.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/json.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agent/process/proc_usage.h"
#include "common/grpc_options.h"
#include "common/grpc_tls.h"
#include "tests/support/agent_client.h"
#include "tests/support/child_program.h"
#include "tests/support/look_pace.h"
#include "tests/support/raw_http2.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_fleet.h"

namespace fetchbench::agent {
namespace {

using test::Drive;
using test::MakeStart;
using test::MakeUrls;
using test::RunResult;
using test::RunStream;
using testing::ChildProgram;
using ::testing::HasSubstr;
using testing::LookPace;
using testing::RawHttp2;
using testing::SendEndlessHeaders;
using ::testing::SizeIs;

constexpr size_t kMiB = size_t{1} << 20;
// What the agents here are to keep to, and by how much they may be above it: what comes in until
// they notice, and until gRPC has closed every connection. Without a limit they had 420 MiB more.
constexpr size_t kLimit = 128 * kMiB;
constexpr size_t kOvershoot = 192 * kMiB;
constexpr int kAttackers = 4;
// In all, so that it is far beyond the limit, and ends.
constexpr size_t kAttackBytes = 768 * kMiB;
// Of all attackers, between two looks of the agent at its memory: some 200 MB/s.
constexpr size_t kBytesPerLook = 8 * kMiB;
constexpr size_t kLeaseBytes = 96 * kMiB;  // as sent

class AgentMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "a sanitizer keeps what is freed, so memory says nothing of the agent";
#endif
    RequireTls13();
    fleet_.Write(Folder("h1"), {});
    fleet_.Write(Folder("ada"), {.uri = "fetchbench://lab/operator/ada"});
  }

  std::string Folder(const std::string& name) const { return temp_.File(name); }

  void Start(std::vector<std::string> more = {}, size_t limit = kLimit) {
    const std::filesystem::path bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    std::vector<std::string> arguments = {
        "--listen",    "127.0.0.1:0", "--native",       bin / "fetchbench-scripted-target",
        "--log-level", "warn",        "--memory-limit", std::to_string(limit / kMiB)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    agent_ = std::make_unique<ChildProgram>(bin / "fetchbench-agent", arguments);
    const auto ready = boost::json::parse(agent_->ReadLines(1));
    address_ = ready.at("listen").as_string();
  }
  void StartWithTls() { Start({"--credentials", Folder("h1")}); }

  std::unique_ptr<v1::Agent::Stub> Connect() const {
    return v1::Agent::NewStub(grpc::CreateCustomChannel(
        address_, grpc::InsecureChannelCredentials(), ClientChannelArguments()));
  }
  std::unique_ptr<v1::Agent::Stub> ConnectByTls() const {
    const auto credentials = Credentials::Load(Folder("ada"), Role::kOperator);
    EXPECT_TRUE(credentials.ok()) << credentials.status();
    return v1::Agent::NewStub(grpc::CreateCustomChannel(
        address_, AgentChannelCredentials(*credentials, "h1"), ClientChannelArguments()));
  }

  // Until all of them have ended.
  static void InParallel(const std::function<void()>& attack) {
    std::vector<std::thread> attackers;
    for (int i = 0; i < kAttackers; ++i) attackers.emplace_back(attack);
    for (std::thread& attacker : attackers) attacker.join();
  }

  // Comes again whenever the agent hangs up, until it has sent its share.
  void AttackWithEndlessHeaders(const std::string& credentials, LookPace& pace) const {
    constexpr size_t kShare = kAttackBytes / kAttackers;
    int refused = 0;
    for (size_t sent = 0; sent < kShare;) {
      if (refused == 1'500) {  // 30 s
        ADD_FAILURE() << "the agent has died, or lets nobody in any more";
        return;
      }
      RawHttp2 client(address_, credentials);
      const size_t taken =
          SendEndlessHeaders(client, kShare - sent, [&pace](size_t bytes) { pace.Spend(bytes); });
      sent += taken;
      refused = taken == 0 ? refused + 1 : 0;
      if (taken == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  LookPace Pace() const { return LookPace(agent_->pid(), "agent-memory", kBytesPerLook); }

  // An honest coordinator, who comes until it is let in and done. Its run is a new one each time:
  // of one that was hung up on the agent sends again only what was not acknowledged.
  static RunResult RunUntilDone(v1::Agent::Stub& stub, size_t urls) {
    for (int i = 0; i < 600; ++i) {
      v1::Start start = MakeStart(fmt::format("after-{}", i));
      start.set_orphan_timeout_ms(200);
      RunStream stream(stub, start);
      RunResult result = Drive(stream, MakeUrls(urls));
      if (result.status.ok()) return result;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return {};
  }

  void ExpectBounded() const {
    const uint64_t peak = PeakMemory(agent_->pid());
    EXPECT_GT(peak, 0u) << "the agent has died";
    EXPECT_LT(peak, kLimit + kOvershoot) << peak / kMiB << " MiB";
    RecordProperty("peak_mib", static_cast<int>(peak / kMiB));
  }

  const testing::TestFleet fleet_;
  const test::TempFolder temp_;
  std::unique_ptr<ChildProgram> agent_;
  std::string address_;
};

TEST_F(AgentMemoryTest, HeadersWithoutEndAreBoundedInPlaintext) {
  Start();
  LookPace pace = Pace();
  InParallel([this, &pace] { AttackWithEndlessHeaders("", pace); });
  ExpectBounded();
  EXPECT_THAT(RunUntilDone(*Connect(), 500).records, SizeIs(500));
}

TEST_F(AgentMemoryTest, HeadersWithoutEndOfAnOperatorAreBounded) {
  StartWithTls();
  LookPace pace = Pace();
  InParallel([this, &pace] { AttackWithEndlessHeaders(Folder("ada"), pace); });
  ExpectBounded();
  EXPECT_THAT(RunUntilDone(*ConnectByTls(), 500).records, SizeIs(500));
}

// A URL of nothing is two bytes on its way, and many times that in memory.
TEST_F(AgentMemoryTest, LeasesOfEmptyUrlsOnManyStreamsAreBounded) {
  Start();
  v1::CoordinatorMessage lease;
  constexpr int kBytesPerUrl = 3;  // its index too
  for (int i = 0; i < (kMaxRequestBytes - 64) / kBytesPerUrl; ++i) {
    lease.mutable_lease()->add_index_delta(1);
    lease.mutable_lease()->add_url();
  }
  InParallel([this, &lease] {
    v1::Start start = MakeStart("hostile");
    start.set_orphan_timeout_ms(200);
    const size_t bytes = lease.ByteSizeLong();
    for (size_t sent = 0; sent < kLeaseBytes / kAttackers;) {
      const auto stub = Connect();
      std::vector<std::unique_ptr<RunStream>> streams;
      for (int i = 0; i < kMaxStreamsPerConnection; ++i) {
        streams.push_back(std::make_unique<RunStream>(*stub, start));
      }
      for (const auto& stream : streams) {
        for (int i = 0; i < 8; ++i) {
          stream->Send(lease);
          sent += bytes;
        }
      }
    }
  });
  ExpectBounded();
  EXPECT_THAT(RunUntilDone(*Connect(), 500).records, SizeIs(500));
}

TEST_F(AgentMemoryTest, ALimitAboveWhatTheHostHasIsDoubted) {
  Start({}, kMiB << 20);
  agent_->Signal(SIGTERM);
  EXPECT_THAT(agent_->Wait().err, HasSubstr("--memory-limit 1048576 is more than this host"));
}

// All that an honest coordinator has for it at once would be twice the limit.
TEST_F(AgentMemoryTest, LongUrlsAreAskedForWithinAShareOfTheLimit) {
  Start();
  v1::Start start = MakeStart("long");
  start.mutable_options()->set_concurrency(10'000);
  start.mutable_options()->set_user_agent("slow=1");
  std::vector<std::string> urls = MakeUrls(4'000);
  for (std::string& url : urls) url += std::string(60'000, 'x');
  const auto stub = Connect();
  RunStream stream(*stub, start);
  const RunResult result = Drive(stream, urls);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_THAT(result.records, SizeIs(4'000));
  EXPECT_LT(PeakMemory(agent_->pid()), kLimit);
}

// What is a few KiB on its way must not be unpacked to many MiB.
TEST_F(AgentMemoryTest, CompressedMessagesAreBounded) {
  Start();
  v1::CoordinatorMessage message;
  message.mutable_cancel()->set_reason(std::string(64 * kMiB, 'r'));
  const auto stub = Connect();
  for (int i = 0; i < 2; ++i) {
    grpc::ClientContext context;
    context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
    const auto stream = stub->Execute(&context);
    stream->Write(message);
    v1::AgentMessage in;
    while (stream->Read(&in)) {
    }
    EXPECT_FALSE(stream->Finish().ok());
  }
  EXPECT_LT(PeakMemory(agent_->pid()), 96 * kMiB);
  EXPECT_THAT(RunUntilDone(*Connect(), 500).records, SizeIs(500));
}

}  // namespace
}  // namespace fetchbench::agent
