#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/integration/program.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::test {

// Runs of the real coordinator into a folder of the test's own. Profile `fast` unless told
// otherwise: no delays, small bodies.
class RunFixture : public ::testing::Test {
 protected:
  static std::string Bin(const std::string& name) { return FETCHBENCH_BIN "/" + name; }

  static std::string List(int urls, const std::string& path = "/") {
    std::string list;
    for (int i = 0; i < urls; ++i)
      list += "https://h" + std::to_string(i) + ".example" + path + "\n";
    return list;
  }

  std::vector<std::string> Command(const std::vector<std::string>& options,
                                   const std::string& web = "sim:fast") const {
    std::vector<std::string> arguments{Bin("fetchbench-coordinator"),
                                       "run",
                                       "--target",
                                       "native",
                                       "--web",
                                       web,
                                       "--out",
                                       Out(),
                                       "--progress",
                                       "plain"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return arguments;
  }

  // A run with `list` on standard input, to its end.
  std::unique_ptr<Program> Run(std::string_view list, const std::vector<std::string>& options,
                               const std::map<std::string, std::string>& environment = {}) const {
    auto program = std::make_unique<Program>(Command(options), environment);
    program->Write(list);
    program->CloseInput();
    exit_ = program->WaitForExit();
    return program;
  }

  // `coordinator resume` of the latest run, to its end.
  std::unique_ptr<Program> Resume(const std::vector<std::string>& options = {}) const {
    std::vector<std::string> arguments{
        Bin("fetchbench-coordinator"), "resume", "--out", Out(), "--progress", "plain"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    auto program = std::make_unique<Program>(arguments);
    exit_ = program->WaitForExit();
    return program;
  }

  // An agent at an address of its own, so that it can be started again there.
  std::string AgentAddress(int number) const {
    return "unix:" + folder_.File("agent" + std::to_string(number));
  }
  std::unique_ptr<Program> StartAgentAt(
      int number, const std::map<std::string, std::string>& environment = {}) const {
    auto agent = std::make_unique<Program>(
        std::vector<std::string>{Bin("fetchbench-agent"), "--listen", AgentAddress(number)},
        environment);
    EXPECT_TRUE(agent->WaitForOutput("}\n")) << agent->error();
    return agent;
  }

  std::string Out() const { return folder_.File("out"); }
  std::string Latest(const std::string& file) const { return "out/latest/" + file; }

  boost::json::value Summary() const {
    boost::system::error_code error;
    return boost::json::parse(folder_.Read(Latest("summary.json")), error);
  }

  boost::json::value RunJson() const {
    boost::system::error_code error;
    return boost::json::parse(folder_.Read(Latest("run.json")), error);
  }

  std::string Ask(const std::string& question) const {
    SQLite::Database db(folder_.File(Latest("records.db")), SQLite::OPEN_READONLY);
    return db.execAndGet(question).getString();
  }

  // What must hold for every run, however it ended.
  void ExpectBalanced() const {
    const boost::json::value summary = Summary();
    const auto& ledger = summary.at("ledger").as_object();
    EXPECT_TRUE(ledger.at("balanced").as_bool()) << boost::json::serialize(ledger);
    EXPECT_EQ(Ask("SELECT count(*) FROM record"), boost::json::serialize(ledger.at("recorded")));
    EXPECT_EQ(Ask("SELECT count(*) FROM record"), Ask("SELECT count(DISTINCT idx) FROM record"));
  }

  const TempFolder folder_;
  mutable std::optional<int> exit_;
};

// Children of a process, theirs included, as they are now.
std::vector<pid_t> Descendants(pid_t pid);
// The file that a process runs.
std::string ProgramOf(pid_t pid);
// Those of `pids` that still run, after giving them up to 10 s to end.
std::vector<pid_t> StillAlive(std::vector<pid_t> pids);

}  // namespace fetchbench::test
