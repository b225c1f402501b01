// Which agents a coordinator speaks to, and what it says of those that it does not. Real gRPC
// servers that show certificates of every kind.

#include "coordinator/fleet/agent_channel.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "common/files.h"
#include "common/grpc_tls.h"
#include "coordinator/fleet/agent_credentials.h"
#include "coordinator/fleet/describe_agents.h"
#include "coordinator/fleet/tls_diagnosis.h"
#include "fetchbench/v1/agent.grpc.pb.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_fleet.h"

namespace fetchbench::coordinator {
namespace {

using ::testing::AllOf;
using testing::FleetCertificate;
using ::testing::HasSubstr;
using testing::TestFleet;

// An agent that asks for a client's certificate and counts who comes through.
class CountingAgent final : public v1::Agent::Service {
 public:
  explicit CountingAgent(std::shared_ptr<grpc::ServerCredentials> credentials) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", std::move(credentials), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  ~CountingAgent() override { server_->Shutdown(std::chrono::system_clock::now()); }

  grpc::Status Describe(grpc::ServerContext* /*context*/, const v1::DescribeRequest* /*request*/,
                        v1::DescribeResponse* /*response*/) override {
    ++calls_;
    return grpc::Status::OK;
  }

  const std::string& address() const { return address_; }
  int calls() const { return calls_; }

 private:
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  std::atomic<int> calls_{0};
};

class AgentChannelTest : public ::testing::Test {
 protected:
  AgentChannelTest() {
    RequireTls13();
    fleet_.Write(Folder("ada"), {.uri = "fetchbench://lab/operator/ada"});
  }

  std::string Folder(const std::string& name) const { return temp_.File(name); }

  std::shared_ptr<grpc::ServerCredentials> Showing(const std::string& folder) const {
    grpc::SslServerCredentialsOptions options(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = ReadWholeFile(folder + "/ca.crt");
    options.pem_key_cert_pairs = {
        {ReadWholeFile(folder + "/tls.key"), ReadWholeFile(folder + "/tls.crt")}};
    return grpc::SslServerCredentials(options);
  }

  AgentEndpoint Endpoint(const std::string& address, const std::string& name) const {
    std::vector<AgentEndpoint> agents{{.address = address, .name = name}};
    const absl::Status equipped =
        EquipAgents({.named = Folder("ada"), .default_place = ""}, agents);
    EXPECT_TRUE(equipped.ok()) << equipped;
    return agents.front();
  }

  static absl::Status Describe(const AgentEndpoint& endpoint) {
    return DescribeAll({endpoint}, {.answer = std::chrono::seconds(20)}).front().status();
  }

  // What `coordinator agents` says of it; empty: it answered.
  std::string Ask(const CountingAgent& agent, const std::string& name = "h1") {
    return std::string(Describe(Endpoint(agent.address(), name)).message());
  }

  // The same of an agent that shows such a certificate, which is to be no use to it.
  std::string AskOneShowing(const FleetCertificate& shown, const TestFleet& fleet) {
    fleet.Write(Folder("agent"), shown);
    const CountingAgent agent(Showing(Folder("agent")));
    const std::string said = Ask(agent);
    EXPECT_EQ(agent.calls(), 0) << "it was sent something";
    EXPECT_NE(said, "");
    return said;
  }
  std::string AskOneShowing(const FleetCertificate& shown) { return AskOneShowing(shown, fleet_); }

  const TestFleet fleet_;
  const test::TempFolder temp_;
};

// As a frozen host is: its kernel still takes connections.
TEST_F(AgentChannelTest, AnAgentThatSaysNothingIsNotSaidToRefuse) {
  boost::asio::io_context io;
  boost::asio::ip::tcp::acceptor silent(io, {boost::asio::ip::address_v4::loopback(), 0});
  const std::string address = "127.0.0.1:" + std::to_string(silent.local_endpoint().port());
  const absl::Status why =
      ExplainUnreachable(Endpoint(address, "h1"), absl::UnavailableError("no answer"));
  EXPECT_THAT(std::string(why.message()), HasSubstr("says nothing"));
}

TEST_F(AgentChannelTest, AHostOfTheFleetWithTheRightNameIsSpokenTo) {
  fleet_.Write(Folder("agent"), {});
  const CountingAgent agent(Showing(Folder("agent")));
  EXPECT_EQ(Ask(agent), "");
  EXPECT_GT(agent.calls(), 0);
}

TEST_F(AgentChannelTest, WithoutANameTheCertificateMustNameTheAddress) {
  fleet_.Write(Folder("agent"), {.uri = "fetchbench://lab/host/127.0.0.1"});
  const CountingAgent agent(Showing(Folder("agent")));
  EXPECT_EQ(Ask(agent, ""), "");
  EXPECT_THAT(Ask(agent, "h1"), HasSubstr("that of host 127.0.0.1, not of h1"));
}

TEST_F(AgentChannelTest, OneThatShowsAnotherCertificateIsNotAndItSaysWhy) {
  const TestFleet other;
  EXPECT_THAT(AskOneShowing({.uri = "fetchbench://lab/host/h2"}),
              AllOf(HasSubstr("host h2, not of h1"), HasSubstr("NAME=ADDRESS")));
  EXPECT_THAT(AskOneShowing({.uri = "fetchbench://lab/operator/eve"}),
              HasSubstr("that of operator eve; only a host's"));
  EXPECT_THAT(AskOneShowing({.uri = "fetchbench://other/host/h1"}),
              HasSubstr("of fleet other, not of lab"));
  EXPECT_THAT(AskOneShowing({.uri = ""}), HasSubstr("names nobody"));
  EXPECT_THAT(AskOneShowing({}, other), HasSubstr("not of the CA in"));
  EXPECT_THAT(AskOneShowing({.from_days = -3, .days = -1}), HasSubstr("expired"));
  EXPECT_THAT(AskOneShowing({.usage = "clientAuth"}), HasSubstr("not one for servers"));
}

TEST_F(AgentChannelTest, ADeniedHostIsNot) {
  const std::string serial = fleet_.Write(Folder("agent"), {});
  const CountingAgent agent(Showing(Folder("agent")));
  std::ofstream(Folder("ada") + "/denied") << serial << "\n";
  EXPECT_THAT(Ask(agent), HasSubstr("serial number " + serial + ", is denied"));
  EXPECT_EQ(agent.calls(), 0);
}

TEST_F(AgentChannelTest, OneWithoutTlsIsNot) {
  const CountingAgent agent(grpc::InsecureServerCredentials());
  EXPECT_THAT(Ask(agent), HasSubstr("speaks no TLS"));
  EXPECT_EQ(agent.calls(), 0);
}

TEST_F(AgentChannelTest, OneThatRefusesOurCertificateIsToldFromOneThatIsNotThere) {
  const TestFleet other;
  fleet_.Write(Folder("agent"), {});
  other.Write(Folder("theirs"), {});
  // It trusts another CA than the one that it was made by: ours is no use to it.
  std::filesystem::copy_file(Folder("theirs") + "/ca.crt", Folder("agent") + "/ca.crt",
                             std::filesystem::copy_options::overwrite_existing);
  const CountingAgent agent(Showing(Folder("agent")));
  EXPECT_THAT(Ask(agent), HasSubstr("refused"));
  EXPECT_EQ(agent.calls(), 0);
  EXPECT_THAT(std::string(Describe(Endpoint("127.0.0.1:1", "h1")).message()),
              HasSubstr("connection refused"));
}

// The kernel takes connections for it, and nobody reads what comes.
class SilentListener {
 public:
  SilentListener() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(fd_, 64), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  SilentListener(const SilentListener&) = delete;
  SilentListener& operator=(const SilentListener&) = delete;
  ~SilentListener() { close(fd_); }

  const std::string& address() const { return address_; }

 private:
  int fd_;
  std::string address_;
};

TEST_F(AgentChannelTest, OneThatHangsIsToldFromOneThatRefuses) {
  const SilentListener agent;
  const absl::Status unavailable = absl::UnavailableError("what gRPC says");
  const AgentEndpoint plain{.address = agent.address(), .name = ""};
  for (const AgentEndpoint& endpoint : {plain, Endpoint(agent.address(), "h1")}) {
    EXPECT_THAT(std::string(ExplainUnreachable(endpoint, unavailable).message()),
                HasSubstr("says nothing"));
  }
}

TEST_F(AgentChannelTest, ANameWithoutAnAddressIsCalledThat) {
  // Too long for a label: no resolver is asked.
  const AgentEndpoint endpoint{.address = std::string(70, 'h') + ":7311", .name = ""};
  const absl::Status said = ExplainUnreachable(endpoint, absl::UnavailableError("what gRPC says"));
  EXPECT_THAT(std::string(said.message()),
              AllOf(HasSubstr("no address is known"), HasSubstr("NAME=ADDRESS")));
}

TEST(ExplainRefusalTest, TakesOurOwnWordsOutOfThoseOfGrpc) {
  const std::string around =
      "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.5:7311: Custom "
      "verification check failed with error: PERMISSION_DENIED: ";
  EXPECT_EQ(ExplainRefusal(absl::UnavailableError(around + "the certificate is denied")),
            absl::UnavailableError("the certificate is denied"));
  const std::string wrapping =
      "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.5:7311: ";
  for (const auto& [theirs, ours] : std::vector<std::pair<std::string, std::string>>{
           {"Failed to connect to remote host: Connection refused", "Connection refused"},
           {"tcp handshaker shutdown", "no answer to attempts to connect"},
           {"Handshake read failed", "it takes connections and does not speak"},
           {"a new one", "a new one"}}) {
    EXPECT_EQ(ExplainRefusal(absl::UnavailableError(wrapping + theirs)),
              absl::UnavailableError(ours));
  }
  for (const absl::Status& other :
       {absl::UnavailableError("Socket closed"), absl::UnavailableError("last error: odd"),
        absl::InvalidArgumentError(around + "x")}) {
    EXPECT_EQ(ExplainRefusal(other), other);
  }
}

TEST_F(AgentChannelTest, WithoutCredentialsNothingGoesToAnotherHost) {
  const CountingAgent agent(grpc::InsecureServerCredentials());
  const AgentEndpoint here{.address = agent.address(), .name = ""};
  EXPECT_TRUE(Describe(here).ok());
  // Zero is this host to the kernel, and another one by the rule.
  const std::string port = agent.address().substr(agent.address().rfind(':'));
  const AgentEndpoint elsewhere{.address = "0.0.0.0" + port, .name = ""};
  const int calls = agent.calls();
  EXPECT_FALSE(Describe(elsewhere).ok());
  EXPECT_EQ(agent.calls(), calls);
}

class EquipAgentsTest : public AgentChannelTest {
 protected:
  std::string Trouble(const CredentialsFolders& folders, const std::string& address) {
    agents_ = {{.address = address, .name = ""}};
    return std::string(EquipAgents(folders, agents_).message());
  }
  bool equipped() const { return agents_.front().credentials != nullptr; }

  std::vector<AgentEndpoint> agents_;
};

TEST_F(EquipAgentsTest, DefaultCredentialsAreForOtherHosts) {
  const CredentialsFolders folders{.named = "", .default_place = Folder("ada")};
  EXPECT_EQ(Trouble(folders, "10.0.0.5:7311"), "");
  EXPECT_TRUE(equipped());
  for (const char* address : {"127.0.0.1:7311", "unix:/s"}) {
    EXPECT_EQ(Trouble(folders, address), "");
    EXPECT_FALSE(equipped()) << address;
  }
}

TEST_F(EquipAgentsTest, NamedOnesAreForAllThatAreDialledByTcp) {
  const CredentialsFolders folders{.named = Folder("ada"), .default_place = ""};
  EXPECT_EQ(Trouble(folders, "127.0.0.1:7311"), "");
  EXPECT_TRUE(equipped());
  EXPECT_EQ(Trouble(folders, "unix:/s"), "");
  EXPECT_FALSE(equipped());
}

TEST_F(EquipAgentsTest, AnotherHostWithoutCredentialsIsAnErrorThatSaysWhatToDo) {
  EXPECT_THAT(Trouble({.named = "", .default_place = Folder("nowhere")}, "10.0.0.5:7311"),
              AllOf(HasSubstr("10.0.0.5:7311"), HasSubstr("bin/pki init FLEET"),
                    HasSubstr("--credentials DIR")));
  EXPECT_THAT(Trouble({.named = "", .default_place = ""}, "10.0.0.5:7311"),
              HasSubstr("bin/pki init FLEET"));
  EXPECT_THAT(Trouble({.named = Folder("nowhere"), .default_place = Folder("ada")}, "h1:7311"),
              HasSubstr("nowhere/ca.crt"));
}

TEST_F(EquipAgentsTest, AHostsCredentialsDriveNobody) {
  fleet_.Write(Folder("h1"), {});
  EXPECT_THAT(Trouble({.named = Folder("h1"), .default_place = ""}, "10.0.0.5:7311"),
              HasSubstr("an operator's is needed"));
}

TEST(CertificateNameTest, IsTheNameOrElseTheHostThatIsDialled) {
  EXPECT_EQ(CertificateName({.address = "10.0.0.5:7311", .name = "h1"}), "h1");
  EXPECT_EQ(CertificateName({.address = "h1.example:7311", .name = ""}), "h1.example");
  EXPECT_EQ(CertificateName({.address = "[fd00::1]:7311", .name = ""}), "fd00::1");
}

}  // namespace
}  // namespace fetchbench::coordinator
