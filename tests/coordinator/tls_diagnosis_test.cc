// Why an agent that was dialled in plaintext is no use, by what it says: real sockets.

#include "coordinator/fleet/tls_diagnosis.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <string_view>
#include <thread>

#include "common/fd.h"

namespace fetchbench::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Takes one connection, reads what a client says first, answers with these bytes and hangs up.
class OneAnswer {
 public:
  enum class End { kOrderly, kReset };

  explicit OneAnswer(std::string_view answer, End end = End::kOrderly)
      : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof own;
    auto* const address = reinterpret_cast<sockaddr*>(&own);
    EXPECT_EQ(bind(listener_.get(), address, size), 0);
    EXPECT_EQ(listen(listener_.get(), 1), 0);
    EXPECT_EQ(getsockname(listener_.get(), address, &size), 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
    thread_ = std::thread([this, answer = std::string(answer), end] { Serve(answer, end); });
  }
  ~OneAnswer() { thread_.join(); }
  OneAnswer(const OneAnswer&) = delete;
  OneAnswer& operator=(const OneAnswer&) = delete;

  const std::string& address() const { return address_; }

 private:
  static constexpr int kPatienceMs = 60'000;

  void Serve(const std::string& answer, End end) const {
    pollfd caller{listener_.get(), POLLIN, 0};
    if (poll(&caller, 1, kPatienceMs) != 1) return;
    const Fd fd(accept(listener_.get(), nullptr, nullptr));
    std::array<char, 64> said{};
    recv(fd.get(), said.data(), said.size(), 0);  // unread, it would make a reset of the end
    send(fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    if (end == End::kReset) {
      const linger at_once{1, 0};
      setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
  }

  const Fd listener_;
  std::string address_;
  std::thread thread_;
};

std::string Why(const OneAnswer& agent) {
  const AgentEndpoint endpoint{.address = agent.address(), .name = ""};
  return std::string(
      ExplainUnreachable(endpoint, absl::UnavailableError("what gRPC says")).message());
}

constexpr std::string_view kAlert("\x15\x03\x01\x00\x02\x02\x46", 7);
constexpr std::string_view kSettings("\0\0\0\4\0\0\0\0\0", 9);

TEST(TlsDiagnosisTest, OnlyAnAlertOfTlsShowsThatItTakesNoPlaintext) {
  EXPECT_THAT(Why(OneAnswer(kAlert)),
              AllOf(HasSubstr("it takes no plaintext"), HasSubstr("--credentials DIR"),
                    Not(HasSubstr("too many connections"))));
}

TEST(TlsDiagnosisTest, OneThatHangsUpWithoutAWordMayBeFullOrNoAgentAtAll) {
  for (const OneAnswer::End end : {OneAnswer::End::kOrderly, OneAnswer::End::kReset}) {
    EXPECT_THAT(Why(OneAnswer("", end)),
                AllOf(HasSubstr("hung up without a word"), HasSubstr("--credentials DIR"),
                      HasSubstr("too many connections"), HasSubstr("no agent")));
  }
}

TEST(TlsDiagnosisTest, AnotherProgramsPortIsCalledThat) {
  EXPECT_THAT(Why(OneAnswer("HTTP/1.1 400 Bad Request\r\n\r\n")),
              HasSubstr("another program's port"));
  EXPECT_THAT(Why(OneAnswer("SSH-2.0-OpenSSH_9.2\r\n")), HasSubstr("another program's port"));
}

TEST(TlsDiagnosisTest, OneThatSpeaksAsAnAgentDoesIsLeftToGrpcsWords) {
  EXPECT_EQ(Why(OneAnswer(kSettings)), "what gRPC says");
}

}  // namespace
}  // namespace fetchbench::coordinator
