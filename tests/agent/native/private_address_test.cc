// The fetcher against a list, DNS answers and redirects that point at private addresses, or at the
// host's own. All of it happens in a network namespace without any route out, which holds these
// addresses itself: a fetcher that does not refuse them is seen to reach them, and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/agent/native/process_fixture.h"

namespace fetchbench::native {
namespace {

using testing::ScriptedConnection;
using testing::ScriptedServer;

// Delivered here by a route, and no interface's: to the fetcher it is somebody else's.
constexpr const char* kPublic = "11.22.33.44";

class PrivateAddressTest : public NativeProcessTest {
 protected:
  // The threads of servers, and the fetcher, are started later and inherit it.
  static void SetUpTestSuite() {
    if (unshare(CLONE_NEWNET) != 0) return;
    const char* script =
        "set -e; ip link set lo up;"
        "for a in 10.1.2.3 169.254.169.254 192.168.1.1 172.16.1.1 100.100.100.200 168.63.129.16 "
        "198.18.0.1; do ip addr add $a/32 dev lo; done;"
        "ip route add local 11.22.33.44/32 dev lo;"
        "ip link add own0 type veth peer name own1; ip link set own0 up; ip link set own1 up;"
        "ip addr add 55.66.77.88/32 dev own0;"
        "ip addr add 2a00:1450:7::7/128 dev own0 nodad;"
        "for a in fd00:7::7 fd00:ec2::254 fe80::7 64:ff9b::a01:203 2002:a01:203::1 2001:db8::7; do "
        "ip addr add $a/128 dev lo nodad; done";
    ready = std::system(script) == 0;  // NOLINT(cert-env33-c): a fixed text
  }

  void SetUp() override {
    if (!ready) GTEST_SKIP() << "needs root and ip, for a network namespace";
    names_["public.test"].v4 = {kPublic};
    names_["private.test"].v4 = {"10.1.2.3"};
    names_["metadata.test"].v4 = {"169.254.169.254"};
    names_["private6.test"].v6 = {"fd00:7::7"};
    names_["mapped.test"].v6 = {"::ffff:10.1.2.3"};
    names_["mixed.test"].v4 = {"10.1.2.3", "55.66.77.88", kPublic};
    names_["own.test"].v4 = {"55.66.77.88"};
    names_["own6.test"].v6 = {"2a00:1450:7::7"};
  }

  // "/go" leads to where_; anything else is answered.
  void Play(ScriptedConnection& connection) const {
    const bool go = connection.ReadRequest().starts_with("GET /go ");
    connection.Send(
        go ? "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + where_ + "\r\n\r\n" : kOk);
  }

  std::string At(const std::string& host, const std::string& path = "/") const {
    return "http://" + host + ":" + std::to_string(server_.port()) + path;
  }

  // Each way to write a private address, or one of the host itself, and names that have none but
  // such.
  static std::vector<std::string> PrivateHosts() {
    return {"10.1.2.3",
            "10.66051",
            "0xa.0x1.0x2.0x3",
            "012.1.2.3",
            "167838211",
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f000001",
            "017700000001",
            "0.0.0.0",
            "localhost",
            "sub.localhost",
            "169.254.169.254",
            "2852039166",
            "169.254.43518",
            "192.168.1.1",
            "172.16.1.1",
            "100.100.100.200",
            "168.63.129.16",
            "198.18.0.1",
            "[::1]",
            "[::ffff:10.1.2.3]",
            "[::ffff:a9fe:a9fe]",
            "[0:0:0:0:0:ffff:7f00:1]",
            "[fd00:7::7]",
            "[fd00:ec2::254]",
            "[64:ff9b::10.1.2.3]",
            "[2002:a01:203::1]",
            "[2001:db8::7]",
            "55.66.77.88",
            "927092056",
            "[2a00:1450:7::7]",
            "[::ffff:55.66.77.88]",
            "own.test",
            "own6.test",
            "private.test",
            "metadata.test",
            "private6.test",
            "mapped.test"};
  }

  static inline bool ready = false;
  std::string where_;
  ScriptedServer server_{[this](ScriptedConnection& c) { Play(c); }, nullptr, "::"};
  const std::vector<std::string> guarded_{"--ip", "both", "--deny-private"};
  const std::vector<std::string> unguarded_{"--ip", "both"};
};

TEST_F(PrivateAddressTest, NoListedUrlReachesOne) {
  std::string input;
  for (const std::string& host : PrivateHosts()) input += At(host) + "\n";
  for (const TargetLine& line : Records(Run(input, unguarded_).out)) {
    EXPECT_EQ(line.record.status, 200) << line.url << " " << line.record.error;
  }
  const int before = server_.connections();
  EXPECT_GE(before, static_cast<int>(PrivateHosts().size()));
  const auto records = Records(Run(input, guarded_).out);
  EXPECT_EQ(records.size(), PrivateHosts().size());
  for (const TargetLine& line : records) {
    EXPECT_EQ(OutcomeName(line.record.outcome), OutcomeName(Outcome::kBlockedAddress)) << line.url;
  }
  EXPECT_EQ(server_.connections(), before);
}

TEST_F(PrivateAddressTest, NoRedirectReachesOne) {
  for (const std::string& host : PrivateHosts()) {
    where_ = At(host);
    EXPECT_EQ(Fetch(At("public.test", "/go"), unguarded_).status, 200) << host;
    const int before = server_.connections();
    const Record record = Fetch(At("public.test", "/go"), guarded_);
    EXPECT_EQ(OutcomeName(record.outcome), OutcomeName(Outcome::kBlockedAddress)) << host;
    EXPECT_EQ(record.redirects, 1) << host;
    EXPECT_EQ(server_.connections(), before + 1) << host;  // the public one
  }
}

TEST_F(PrivateAddressTest, OfMixedAnswersThePublicOneIsTaken) {
  for (int i = 0; i < 5; ++i) {
    const Record record = Fetch(At("mixed.test"), guarded_);
    ExpectOutcome(record, Outcome::kStatus);
    EXPECT_THAT(record.remote_address, ::testing::HasSubstr(kPublic));
  }
}

}  // namespace
}  // namespace fetchbench::native
