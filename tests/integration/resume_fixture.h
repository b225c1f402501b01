#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/integration/run_fixture.h"

namespace fetchbench::test {

// Runs that are disturbed, and what must be the same as had they not been.
class ResumeFixture : public RunFixture {
 protected:
  // Hosts whose outcome does not depend on time, some of each; a line in nine is no URL.
  static std::string Mixed(int lines) {
    static const std::vector<std::string> kKinds{
        "http://h{}.example/",  "http://h{}.status-404.conformance.test/",
        "http://h{}.example/a", "http://h{}.dns-nxdomain.conformance.test/",
        "not a url {}",         "http://h{}.connect-refused.conformance.test/",
        "http://h{}.example/b", "http://h{}.redirect-301.conformance.test/",
        "https://h{}.example/"};
    std::string list;
    for (int i = 0; i < lines; ++i) {
      std::string line = kKinds[static_cast<size_t>(i) % kKinds.size()];
      line.replace(line.find("{}"), 2, std::to_string(i));
      list += line + "\n";
    }
    return list;
  }

  std::unique_ptr<Program> Begin(std::string_view list, std::vector<std::string> options,
                                 const std::string& web = "sim:fast") const {
    auto program = std::make_unique<Program>(Command(options, web));
    program->Write(list);
    program->CloseInput();
    return program;
  }

  // "outcome status count" of each kind, in order: equal for two runs that came to the same.
  std::string Counts() const {
    return Ask(
        "SELECT group_concat(line, '; ') FROM (SELECT outcome || ' ' || coalesce(status, '') || ' "
        "' "
        "|| count(*) AS line FROM records GROUP BY outcome, status ORDER BY outcome, status)");
  }

  std::string CountsOfUndisturbedRun(const std::string& list) const {
    const auto run = Run(list, {"--concurrency", "20"});
    EXPECT_EQ(exit_, 0) << run->error();
    return Counts();
  }

  // `coordinator resume` ends well, and every one of `urls` has its record.
  void ExpectResumeCompletes(int urls) const {
    const auto resumed = Resume();
    EXPECT_EQ(exit_, 0) << resumed->error();
    EXPECT_EQ(Ask("SELECT count(*) FROM record"), std::to_string(urls));
    ExpectBalanced();
  }

  bool Exists(const std::string& file) const {
    return std::filesystem::exists(folder_.File(Latest(file)));
  }
};

}  // namespace fetchbench::test
