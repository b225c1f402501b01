// Who may speak to an agent that listens with credentials, and what one without them refuses. Real
// sockets and the real gRPC server.

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "agent/connection_book.h"
#include "agent/listen_security.h"
#include "agent/server.h"
#include "common/grpc_log.h"
#include "common/grpc_options.h"
#include "common/grpc_tls.h"
#include "common/log.h"
#include "common/log_budget.h"
#include "fetchbench/v1/agent.grpc.pb.h"
#include "tests/support/idle_crowd.h"
#include "tests/support/raw_http2.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_fleet.h"
#include "tests/support/tls_knock.h"

namespace fetchbench::agent {
namespace {

using testing::FleetCertificate;
using ::testing::HasSubstr;
using testing::KnockAt;
using testing::Reception;
using testing::TestFleet;

class AgentTlsTest : public ::testing::Test {
 protected:
  AgentTlsTest() {
    RequireTls13();
    testing::AllowManyOpenFiles();
    fleet_.Write(Folder("h1"), {});
    fleet_.Write(Folder("ada"), ada_);
  }

  std::string Folder(const std::string& name) const { return temp_.File(name); }

  void Serve(const std::string& listen = "127.0.0.1:0") {
    AgentConfig config;
    config.native_path = "/nonexistent";
    config.start_patience = std::chrono::minutes(1);
    auto server = AgentServer::Start(config, listen, Folder("h1"));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  Reception KnockWith(const FleetCertificate& shown, const TestFleet& fleet) {
    fleet.Write(Folder("peer"), shown);
    return KnockAt(server_->address(), {.credentials = Folder("peer")});
  }
  Reception KnockWith(const FleetCertificate& shown) { return KnockWith(shown, fleet_); }

  std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address,
                                           const std::string& name) const {
    const auto credentials = Credentials::Load(Folder(name), Role::kOperator);
    EXPECT_TRUE(credentials.ok()) << credentials.status();
    return grpc::CreateCustomChannel(address, AgentChannelCredentials(*credentials, "h1"),
                                     ClientChannelArguments());
  }
  std::shared_ptr<grpc::Channel> ChannelOf(const std::string& name) const {
    return ChannelTo(server_->address(), name);
  }

  static grpc::Status Describe(const std::shared_ptr<grpc::Channel>& channel,
                               v1::DescribeResponse* to = nullptr) {
    const auto stub = v1::Agent::NewStub(channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    v1::DescribeResponse response;
    return stub->Describe(&context, {}, to != nullptr ? to : &response);
  }

  // A call of any service, by its path alone.
  static grpc::Status Call(const std::shared_ptr<grpc::Channel>& channel, const char* method) {
    grpc::TemplatedGenericStub<v1::DescribeRequest, v1::DescribeResponse> stub(channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    grpc::CompletionQueue queue;
    auto call = stub.PrepareUnaryCall(&context, method, v1::DescribeRequest(), &queue);
    v1::DescribeResponse response;
    grpc::Status status;
    call->StartCall();
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return status;
  }

  const TestFleet fleet_;
  const test::TempFolder temp_;
  const FleetCertificate ada_{.uri = "fetchbench://lab/operator/ada"};
  std::unique_ptr<AgentServer> server_;
};

TEST_F(AgentTlsTest, SaysWhenItsCertificateExpiresAlsoAfterARenewal) {
  Serve();
  for (const int days : {30, 60}) {
    fleet_.Renew(Folder("h1"), {.days = days});
    const auto written = Credentials::Load(Folder("h1"), Role::kHost);
    ASSERT_TRUE(written.ok()) << written.status();
    v1::DescribeResponse response;
    ASSERT_TRUE(Describe(ChannelOf("ada"), &response).ok());
    EXPECT_EQ(response.certificate_not_after_us(), (*written)->own().not_after * 1'000'000);
  }
}

TEST_F(AgentTlsTest, AnOperatorOfTheFleetIsServed) {
  Serve();
  EXPECT_EQ(KnockWith(ada_), Reception::kWelcome);
  const grpc::Status status = Describe(ChannelOf("ada"));
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(AgentTlsTest, NobodyElseGetsAByte) {
  Serve();
  const TestFleet other;
  EXPECT_EQ(KnockAt(server_->address(), {}), Reception::kRefused) << "no certificate";
  EXPECT_EQ(KnockAt(server_->address(), {.credentials = "", .plaintext = true}),
            Reception::kRefused)
      << "plaintext";
  EXPECT_EQ(KnockWith(ada_, other), Reception::kRefused) << "another CA";
  EXPECT_EQ(KnockWith({.uri = ada_.uri, .from_days = -3, .days = -1}), Reception::kRefused)
      << "expired";
  EXPECT_EQ(KnockWith({.uri = ada_.uri, .from_days = 1}), Reception::kRefused) << "not yet valid";
  EXPECT_EQ(KnockWith({.uri = ada_.uri, .usage = "serverAuth"}), Reception::kRefused)
      << "not a client's";
  EXPECT_EQ(KnockWith({.uri = "fetchbench://lab/host/h2"}), Reception::kRefused) << "a host's";
  EXPECT_EQ(KnockWith({.uri = "fetchbench://other/operator/ada"}), Reception::kRefused)
      << "another fleet's, by the same CA";
  EXPECT_EQ(KnockWith({.uri = ""}), Reception::kRefused) << "nobody's";
  EXPECT_EQ(KnockWith({.uri = ada_.uri + ",fetchbench://lab/host/h2"}), Reception::kRefused)
      << "of two roles";
  EXPECT_EQ(KnockWith(ada_), Reception::kWelcome) << "and an operator still is served";
}

TEST_F(AgentTlsTest, Tls12IsRefusedEvenWithAGoodCertificate) {
  Serve();
  EXPECT_EQ(KnockAt(server_->address(), {.credentials = Folder("ada"), .tls12 = true}),
            Reception::kRefused);
}

TEST_F(AgentTlsTest, ADeniedOperatorIsRefusedAndOneThatIsConnectedMakesNoFurtherCall) {
  Serve();
  const std::string serial = fleet_.Write(Folder("bob"), {.uri = "fetchbench://lab/operator/bob"});
  const auto channel = ChannelOf("bob");
  ASSERT_TRUE(Describe(channel).ok());
  std::ofstream(Folder("h1") + "/denied") << serial << " # left us\n";
  EXPECT_EQ(KnockAt(server_->address(), {.credentials = Folder("bob")}), Reception::kRefused);
  // On the connection that stands, whatever is called.
  for (const char* method :
       {"/fetchbench.v1.Agent/Describe", "/fetchbench.v1.Agent/Prepare",
        "/fetchbench.v1.Agent/Execute", "/grpc.health.v1.Health/Check",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "/no.such/Method"}) {
    const grpc::Status status = Call(channel, method);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << method;
    EXPECT_THAT(status.error_message(), HasSubstr(serial)) << method;
  }
  EXPECT_TRUE(Describe(ChannelOf("ada")).ok());
}

// One of an agent that was renewed, with another key and CA even, without a restart.
TEST_F(AgentTlsTest, RenewedCredentialsAreTakenUpWhileItRuns) {
  Serve();
  const TestFleet next;
  next.Write(Folder("ada"), ada_);
  ASSERT_EQ(KnockAt(server_->address(), {.credentials = Folder("ada")}), Reception::kRefused);
  next.Write(Folder("h1"), {});
  Reception reception = Reception::kRefused;
  for (int i = 0; i < 600 && reception == Reception::kRefused; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    reception = KnockAt(server_->address(), {.credentials = Folder("ada")});
  }
  EXPECT_EQ(reception, Reception::kWelcome);
}

TEST_F(AgentTlsTest, OperatorsWhoAreConnectedAndAskForNothingKeepNobodyOut) {
  Serve();
  std::vector<std::unique_ptr<testing::RawHttp2>> idle;
  for (size_t i = 0; i < kMaxConnections + 20; ++i) {
    idle.push_back(std::make_unique<testing::RawHttp2>(server_->address(), Folder("ada")));
  }
  const grpc::Status status = Describe(ChannelOf("ada"));
  EXPECT_TRUE(status.ok()) << status.error_message();
}

// A socket of both kinds gives IPv4 addresses as IPv6 maps them, and gRPC gives them as they are.
TEST_F(AgentTlsTest, OnAllAddressesACallKeepsItsConnectionToo) {
  Serve("[::]:0");
  const std::string& bound = server_->address();
  const std::string address = "127.0.0.1" + bound.substr(bound.rfind(':'));
  const auto stub = v1::Agent::NewStub(ChannelTo(address, "ada"));
  grpc::ClientContext context;
  const auto stream = stub->Execute(&context);
  // Another call on the same connection: when it is answered, the first has begun.
  grpc::ClientContext described;
  v1::DescribeResponse response;
  ASSERT_TRUE(stub->Describe(&described, {}, &response).ok());
  testing::IdleCrowd crowd(address);
  ASSERT_TRUE(crowd.Grow(kMaxConnections + 40));
  for (int i = 0; i < 1'500 && crowd.Ended() < 40; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_GE(crowd.Ended(), 40u);
  v1::CoordinatorMessage message;
  message.mutable_ack();
  stream->Write(message);
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
}

// What the agent logs meanwhile, gRPC's own lines included.
class AgentLogTest : public AgentTlsTest {
 protected:
  AgentLogTest() {
    EXPECT_TRUE(SetUpLog("agent", "warn", "text").ok());
    SendGrpcLog(GrpcLog::kWarnings);
    redirection_.emplace(std::make_shared<spdlog::sinks::ostream_sink_mt>(text_));
  }

  static constexpr int kFlood = 200;

  // How many lines of a kind there may be: so many for each minute that began since the test did.
  uint64_t Bound() const {
    const auto minutes = (std::chrono::steady_clock::now() - begin_) / LogBudget::kPeriod;
    return LogBudget::kLines * static_cast<uint64_t>(minutes + 1);
  }

  // Ends the agent.
  std::vector<std::string> LinesWith(const std::string& part) {
    server_.reset();
    redirection_.reset();  // nobody writes into the text any more
    std::vector<std::string> lines;
    for (const absl::string_view line : absl::StrSplit(text_.str(), '\n')) {
      if (absl::StrContains(line, part)) lines.emplace_back(line);
    }
    return lines;
  }

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::ostringstream text_;
  std::optional<LogRedirection> redirection_;
};

TEST_F(AgentLogTest, StrangersDoNotFloodIt) {
  Serve();
  for (int i = 0; i < kFlood; ++i) {
    ASSERT_EQ(KnockAt(server_->address(), {}), Reception::kRefused);
  }
  const size_t lines = LinesWith("Handshake failed").size();
  EXPECT_GT(lines, 0u);
  EXPECT_LE(lines, Bound());
}

TEST_F(AgentLogTest, ADeniedOperatorDoesNotFloodIt) {
  Serve();
  const std::string serial = fleet_.Write(Folder("bob"), {.uri = "fetchbench://lab/operator/bob"});
  const auto channel = ChannelOf("bob");
  ASSERT_TRUE(Describe(channel).ok());
  std::ofstream(Folder("h1") + "/denied") << serial << "\n";
  for (int i = 0; i < kFlood; ++i) {
    ASSERT_EQ(KnockAt(server_->address(), {.credentials = Folder("bob")}), Reception::kRefused);
    ASSERT_EQ(Describe(channel).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  }
  for (const char* kind : {"refused a connection: ", "refused a call: "}) {
    const size_t lines = LinesWith(kind).size();
    EXPECT_GT(lines, 0u) << kind;
    EXPECT_LE(lines, Bound()) << kind;
  }
  EXPECT_THAT(LinesWith("refused a").front(), HasSubstr(serial));
}

class ListenSecurityTest : public AgentTlsTest {
 protected:
  std::string Trouble(const std::string& listen, const std::string& folder = "") const {
    const auto security = SecureListener(listen, folder, Folder("default"));
    return security.ok() ? "" : std::string(security.status().message());
  }
};

TEST_F(ListenSecurityTest, OnAnotherAddressCredentialsAreNeeded) {
  for (const char* listen : {"0.0.0.0:0", "[::]:0", "10.0.0.5:7311", "host.example:7311"}) {
    EXPECT_THAT(Trouble(listen), HasSubstr("bin/pki host NAME")) << listen;
    EXPECT_EQ(Trouble(listen, Folder("h1")), "") << listen;
    EXPECT_THAT(Trouble(listen, Folder("ada")), HasSubstr("a host's is needed")) << listen;
    EXPECT_THAT(Trouble(listen, Folder("nowhere")), HasSubstr("nowhere/ca.crt")) << listen;
  }
}

TEST_F(ListenSecurityTest, TheDefaultOnesAreForOtherAddressesOnly) {
  fleet_.Write(Folder("default"), {});
  EXPECT_NE(SecureListener("0.0.0.0:0", "", Folder("default"))->credentials, nullptr);
  EXPECT_EQ(SecureListener("127.0.0.1:0", "", Folder("default"))->credentials, nullptr);
  EXPECT_EQ(SecureListener("unix:/s", "", Folder("default"))->credentials, nullptr);
}

TEST_F(ListenSecurityTest, ContainersAreRefusedOnLoopbackWithoutTls) {
  EXPECT_THAT(SecureListener("127.0.0.1:0", "", "")->no_containers, HasSubstr("unix:PATH"));
  EXPECT_THAT(SecureListener("[::1]:0", "", "")->no_containers, HasSubstr("--credentials"));
  EXPECT_EQ(SecureListener("127.0.0.1:0", Folder("h1"), "")->no_containers, "");
  EXPECT_EQ(SecureListener("unix:/s", "", "")->no_containers, "");
}

TEST_F(ListenSecurityTest, AUnixSocketTakesNone) {
  EXPECT_THAT(Trouble("unix:/s", Folder("h1")), HasSubstr("does not go with"));
}

}  // namespace
}  // namespace fetchbench::agent
