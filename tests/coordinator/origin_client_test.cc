#include "coordinator/web/origin_client.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <string>

#include "common/io_thread.h"
#include "tests/support/run_task.h"

namespace fetchbench::coordinator {
namespace {

using ::testing::HasSubstr;
using tcp = net::ip::tcp;

constexpr std::string_view kAnswer =
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nCA";
constexpr std::string_view kRefusal =
    "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

// An origin with a port, of which nobody hears anything before Appear().
class LateOrigin {
 public:
  explicit LateOrigin(std::string_view answer) : answer_(answer) {
    acceptor_.open(tcp::v4());
    acceptor_.bind({net::ip::address_v4::loopback(), 0});
  }
  ~LateOrigin() {
    net::post(loop_.executor(), [this] { acceptor_.close(); });
    loop_.Join();
  }

  net::any_io_executor executor() { return loop_.executor(); }
  std::string address() const {
    return fmt::format("127.0.0.1:{}", acceptor_.local_endpoint().port());
  }
  int answers() const { return answers_; }

  // On the loop.
  void Appear() {
    acceptor_.listen();
    net::co_spawn(loop_.executor(), Serve(), net::detached);
  }

  absl::StatusOr<std::string> Ask(OriginClient& client) {
    return test::RunOn(loop_, client.CaPem()).get();
  }

 private:
  Task<> Serve() {
    while (true) {
      auto [error, socket] = co_await acceptor_.async_accept(kAsTuple);
      if (error) co_return;
      std::string request;
      auto buffer = net::dynamic_buffer(request);
      co_await net::async_read_until(socket, buffer, "\r\n\r\n", kAsTuple);
      ++answers_;
      co_await net::async_write(socket, net::buffer(answer_), kAsTuple);
    }
  }

  IoThread loop_{"origin"};
  tcp::acceptor acceptor_{loop_.executor()};
  std::string answer_;
  int answers_ = 0;
};

TEST(OriginClientTest, AnOriginOutOfReachIsAskedAgainUntilItAnswers) {
  LateOrigin origin(kAnswer);
  OriginClient client(origin.executor(), origin.address());
  int looks = 0;
  // Looked at after each time that nobody answered.
  const auto stopped = [&] {
    if (++looks == 2) origin.Appear();
    return false;
  };
  client.set_patience({test::kTestPatience, stopped});
  const auto answer = origin.Ask(client);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(*answer, "CA");
  EXPECT_EQ(looks, 2);
}

TEST(OriginClientTest, WithoutPatienceItIsAskedOnce) {
  LateOrigin origin(kAnswer);
  OriginClient client(origin.executor(), origin.address());
  const auto answer = origin.Ask(client);
  EXPECT_TRUE(absl::IsUnavailable(answer.status())) << answer.status();
  EXPECT_THAT(std::string(answer.status().message()),
              HasSubstr("origin " + origin.address() + ": GET /v1/ca.pem: "));
}

TEST(OriginClientTest, WhoeverStopsIsNotKeptWaiting) {
  LateOrigin origin(kAnswer);
  OriginClient client(origin.executor(), origin.address());
  client.set_patience({std::chrono::hours(1), [] { return true; }});
  EXPECT_TRUE(absl::IsUnavailable(origin.Ask(client).status()));
}

TEST(OriginClientTest, WhatAnOriginRefusesIsNotAskedAgain) {
  LateOrigin origin(kRefusal);
  OriginClient client(origin.executor(), origin.address());
  client.set_patience({std::chrono::hours(1), [] { return false; }});
  origin.Appear();
  const auto answer = origin.Ask(client);
  EXPECT_TRUE(absl::IsFailedPrecondition(answer.status())) << answer.status();
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("answered 503"));
  EXPECT_EQ(origin.answers(), 1);
}

}  // namespace
}  // namespace fetchbench::coordinator
