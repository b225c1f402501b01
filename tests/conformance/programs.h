#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// The real programs as child processes. Blocking; for tests only.
namespace fetchbench::conformance {

// Runs a program with `input` on its standard input until it ends, at most `timeout_s`; its
// standard output. Internal when it cannot be started, exits with another code than 0, or takes
// longer (it is killed then).
absl::StatusOr<std::string> RunProgram(const std::vector<std::string>& command,
                                       std::string_view input, double timeout_s);

// A fetchbench-origin, from its readiness line to SIGTERM in the destructor.
class OriginProcess {
 public:
  static absl::StatusOr<OriginProcess> Start(const std::vector<std::string>& command);
  OriginProcess(OriginProcess&& other) noexcept;
  OriginProcess& operator=(OriginProcess&&) = delete;
  ~OriginProcess();

  // GET of the control endpoint; the body of a 200.
  absl::StatusOr<std::string> Get(const std::string& path) const;

 private:
  OriginProcess(pid_t pid, int output) : pid_(pid), output_(output) {}

  pid_t pid_;
  int output_;
  std::string host_;
  std::string port_;
};

}  // namespace fetchbench::conformance
