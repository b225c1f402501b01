// Who is let in to a real gRPC server, and how its connections end.

#include "agent/doorkeeper.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agent/listen_address.h"
#include "agent/listener.h"
#include "common/fd.h"
#include "common/grpc_options.h"
#include "fetchbench/v1/agent.grpc.pb.h"
#include "tests/support/raw_http2.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::agent {
namespace {

// On TCP, or on a Unix socket.
class DoorkeeperTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    grpc::ServerBuilder builder;
    ApplyServerOptions(builder);
    auto acceptor = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    auto address = ParseListenAddress(GetParam() ? "unix:" + temp_.File("door") : "127.0.0.1:0");
    ASSERT_TRUE(address.ok()) << address.status();
    auto listeners = OpenListeners(*address);
    ASSERT_TRUE(listeners.ok()) << listeners.status();
    address_ = *std::move(address);
    door_.emplace(*std::move(listeners), std::move(acceptor), book_);
  }
  void TearDown() override {
    door_.reset();
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
  }

  Fd Connect() const {
    if (!GetParam()) return Fd(testing::ConnectTo(address_.Text()));
    Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    address_.socket_path.copy(to.sun_path, sizeof(to.sun_path) - 1);
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
    return fd;
  }

  // Greets and waits for the server's greeting. False: it hung up.
  static bool IsWelcome(const Fd& connection) {
    const std::string greeting = testing::Http2Greeting();
    send(connection.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL);
    char first = 0;
    return recv(connection.get(), &first, 1, 0) == 1;
  }

  // Until the server has ended it; what it said before is read.
  static bool Ends(const Fd& connection) {
    std::string bytes(4096, '\0');
    ssize_t n = 1;
    while (n > 0) n = recv(connection.get(), bytes.data(), bytes.size(), 0);
    return n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  }

  void AwaitConnections(size_t count) const {
    for (int i = 0; i < 1'500 && book_.counts().open != count; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_EQ(book_.counts().open, count);
  }

  const test::TempFolder temp_;
  ListenAddress address_;
  v1::Agent::CallbackService service_;  // gRPC starts no server that has none
  std::unique_ptr<grpc::Server> server_;
  ConnectionBook book_;
  std::optional<Doorkeeper> door_;
};

INSTANTIATE_TEST_SUITE_P(Sockets, DoorkeeperTest, ::testing::Bool(),
                         [](const auto& socket) { return socket.param ? "Unix" : "Tcp"; });

TEST_P(DoorkeeperTest, ForgetsConnectionsThatHaveEnded) {
  const Fd stays = Connect();
  ASSERT_TRUE(IsWelcome(stays));
  {
    const Fd first = Connect();
    const Fd second = Connect();
    ASSERT_TRUE(IsWelcome(first) && IsWelcome(second));
    EXPECT_EQ(book_.counts().open, 3u);
  }
  AwaitConnections(1);
}

TEST_P(DoorkeeperTest, EndsAllConnectionsAndTakesNoneUntilItIsToldTo) {
  std::vector<Fd> connections;
  for (int i = 0; i < 5; ++i) {
    connections.push_back(Connect());
    ASSERT_TRUE(IsWelcome(connections.back()));
  }
  EXPECT_EQ(book_.HangUp(), 5u);
  for (const Fd& connection : connections) EXPECT_TRUE(Ends(connection));
  AwaitConnections(0);
  EXPECT_FALSE(IsWelcome(Connect()));
  book_.LetIn();
  EXPECT_TRUE(IsWelcome(Connect()));
}

// Whose calls those of TCP have, gRPC tells; of these nobody has any.
TEST_P(DoorkeeperTest, BeyondItsBoundIdleOnesGiveWayOnTcpAndOnAUnixSocketNobodyComesIn) {
  std::vector<Fd> connections;
  for (size_t i = 0; i < kMaxConnections; ++i) {
    connections.push_back(Connect());
    ASSERT_TRUE(IsWelcome(connections.back())) << i;
  }
  EXPECT_EQ(IsWelcome(Connect()), !GetParam());
  EXPECT_LE(book_.counts().open, kMaxConnections);
  EXPECT_EQ(book_.counts().refused, GetParam() ? 1u : 0u);
  EXPECT_EQ(book_.counts().ended, GetParam() ? 0u : 1u);
  connections.clear();
  AwaitConnections(0);
  EXPECT_TRUE(IsWelcome(Connect()));
}

}  // namespace
}  // namespace fetchbench::agent
