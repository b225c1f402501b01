#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fetchbench::testing {

struct ChildResult {
  int exit_code = -1;  // 128 + signal when a signal ended it
  std::string out;
  std::string err;
};

// A program under test with pipes for its standard streams. One thread.
class ChildProgram {
 public:
  // `open_files`: soft and hard RLIMIT_NOFILE of the child; 0: as it is.
  ChildProgram(const std::string& path, const std::vector<std::string>& arguments,
               const std::map<std::string, std::string>& environment = {}, size_t open_files = 0);
  ~ChildProgram();  // kills it when it still runs
  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;

  void Write(std::string_view bytes);
  void CloseInput();
  void CloseOutput();  // as if the reader of its records had died
  void Signal(int signal) const;
  pid_t pid() const { return pid_; }

  // Standard output until it holds `lines` lines, or the patience is over.
  std::string ReadLines(size_t lines, std::chrono::seconds patience = std::chrono::seconds(20));

  // Closes the input and waits for the end; a child that outlives the patience is killed.
  ChildResult Wait(std::chrono::seconds patience = std::chrono::seconds(60));

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  int err_ = -1;
  std::string out_text_;
  std::string err_text_;
};

}  // namespace fetchbench::testing
