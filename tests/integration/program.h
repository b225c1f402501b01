#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fetchbench::test {

// A program under test as a child process: its output is gathered, its input given. One thread. It
// and its process group are killed with the object.
class Program {
 public:
  // `environment` is added to ours; a variable with an empty value is removed.
  explicit Program(const std::vector<std::string>& arguments,
                   const std::map<std::string, std::string>& environment = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Both gather output while they wait.
  void Write(std::string_view text);
  void CloseInput();
  void CloseOutput();  // as a reader that had enough

  void Signal(int number) const;
  // Until the standard output, or error, holds `text`. False: it ended or `patience` ran out first.
  bool WaitForOutput(std::string_view text, std::chrono::milliseconds patience = kPatience);
  bool WaitForError(std::string_view text, std::chrono::milliseconds patience = kPatience);
  // The exit code, -N for signal N; empty when it did not end in time.
  std::optional<int> WaitForExit(std::chrono::milliseconds patience = kPatience);

  pid_t pid() const { return pid_; }
  const std::string& output() const { return output_; }
  const std::string& error() const { return error_; }

 private:
  // A bound against a hanging test, far above what a busy machine needs, and below every TIMEOUT
  // of ctest: so it is the test that says what did not come.
  static constexpr std::chrono::milliseconds kPatience{170'000};

  bool Gather(std::chrono::milliseconds limit);
  bool WaitFor(const std::string& where, std::string_view text, std::chrono::milliseconds patience);
  bool Ended();

  pid_t pid_ = -1;
  int input_ = -1;
  int output_fd_ = -1;
  int error_fd_ = -1;
  std::string output_;
  std::string error_;
  std::optional<int> exit_;
};

}  // namespace fetchbench::test
