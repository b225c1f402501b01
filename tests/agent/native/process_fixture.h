#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/record_line.h"
#include "tests/support/child_program.h"
#include "tests/support/loopback_dns.h"
#include "tests/support/scripted_server.h"
#include "tests/support/test_certificates.h"

namespace fetchbench::native {

// Runs the real fetchbench-native against scripted servers. "a.test" is 127.0.0.1 unless a test
// says otherwise; the test CA is trusted.
class NativeProcessTest : public ::testing::Test {
 protected:
  NativeProcessTest() {
    names_["a.test"].v4 = {"127.0.0.1"};
    ca_path_ = ::testing::TempDir() + "/native-ca-" + std::to_string(getpid()) + ".pem";
    std::ofstream(ca_path_) << ca_.Pem();
  }
  ~NativeProcessTest() override { unlink(ca_path_.c_str()); }

  std::vector<std::string> Arguments(std::vector<std::string> more = {}) {
    if (!dns_) dns_ = std::make_unique<testing::LoopbackDns>(names_);
    std::vector<std::string> all = {"--format",  "jsonl",  "--resolver", dns_->address(),
                                    "--ca-file", ca_path_, "--timeout",  "10",
                                    "--threads", "1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  testing::ChildResult Run(const std::string& input, std::vector<std::string> more = {}) {
    testing::ChildProgram child(FETCHBENCH_NATIVE_PATH, Arguments(std::move(more)));
    child.Write(input);
    return child.Wait();
  }

  static std::vector<TargetLine> Records(const std::string& out) {
    std::vector<TargetLine> records;
    for (size_t begin = 0; begin < out.size();) {
      const size_t end = out.find('\n', begin);
      EXPECT_NE(end, std::string::npos) << "last line has no end";
      if (end == std::string::npos) break;
      auto line = ParseJsonLine(out.substr(begin, end - begin));
      EXPECT_TRUE(line.ok()) << line.status() << out.substr(begin, end - begin);
      if (line.ok()) records.push_back(*std::move(line));
      begin = end + 1;
    }
    return records;
  }

  // The one record of one URL.
  Record Fetch(const std::string& url, std::vector<std::string> more = {}) {
    const testing::ChildResult result = Run(url + "\n", std::move(more));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const auto records = Records(result.out);
    EXPECT_EQ(records.size(), 1u) << result.out << result.err;
    if (records.size() != 1) return {};
    EXPECT_EQ(records[0].url, url);
    return records[0].record;
  }

  static std::string Url(const testing::ScriptedServer& server, const std::string& path = "/") {
    return "http://a.test:" + std::to_string(server.port()) + path;
  }

  static void ExpectOutcome(const Record& record, Outcome outcome) {
    EXPECT_EQ(OutcomeName(record.outcome), OutcomeName(outcome)) << record.error;
  }

  testing::TestCa ca_;
  std::string ca_path_;
  std::map<std::string, testing::DnsScript> names_;
  std::unique_ptr<testing::LoopbackDns> dns_;
};

inline constexpr const char* kOk = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

}  // namespace fetchbench::native
