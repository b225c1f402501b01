#pragma once

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/integration/run_fixture.h"

namespace fetchbench::test {

// Runs over agents of the test's own.
class AgentsFixture : public RunFixture {
 protected:
  Program& StartAgent(const std::vector<std::string>& options = {}) {
    std::vector<std::string> command{Bin("fetchbench-agent"), "--listen", "127.0.0.1:0"};
    command.insert(command.end(), options.begin(), options.end());
    agents_.push_back(std::make_unique<Program>(command));
    Program& agent = *agents_.back();
    EXPECT_TRUE(agent.WaitForOutput("}\n")) << agent.error();
    boost::system::error_code error;
    const auto ready = boost::json::parse(agent.output(), error);
    if (!addresses_.empty()) addresses_ += ",";
    listening_.emplace_back(ready.at("listen").as_string());
    addresses_ += listening_.back();
    return agent;
  }

  // Waits until the run that goes on has one.
  std::string AgentOfTheFirstRecord() const {
    const std::string agent = WaitForAnswer("SELECT agent FROM record LIMIT 1");
    return agent.empty() ? "0" : agent;
  }

  // False: it did not come.
  bool WaitForRecordOf(int agent) const {
    return !WaitForAnswer("SELECT idx FROM record WHERE agent = " + std::to_string(agent) +
                          " LIMIT 1")
                .empty();
  }

  // What the records of the run that goes on answer, once they do.
  std::string WaitForAnswer(const std::string& question) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < deadline) {
      usleep(20'000);
      if (!std::filesystem::exists(folder_.File(Latest("records.db")))) continue;
      try {
        return Ask(question);
      } catch (const SQLite::Exception&) {  // no table or no such record yet
      }
    }
    return "";
  }

  std::vector<std::unique_ptr<Program>> agents_;
  std::vector<std::string> listening_;
  std::string addresses_;  // the same, with commas between
};

}  // namespace fetchbench::test
