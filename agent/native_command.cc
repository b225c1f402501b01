#include "agent/native_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace fetchbench::agent {
namespace {

absl::Status CheckText(std::string_view name, const std::string& text) {
  if (text.size() > kMaxOptionBytes) {
    return absl::InvalidArgumentError(fmt::format("option {} has {} bytes", name, text.size()));
  }
  // A NUL would end the argument early, unseen.
  if (text.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(fmt::format("option {} holds a NUL byte", name));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckOptions(const v1::FetchOptions& o) {
  if (o.concurrency() == 0 || o.concurrency() > kMaxConcurrency) {
    return absl::InvalidArgumentError(
        fmt::format("concurrency {}: 1 to {}", o.concurrency(), kMaxConcurrency));
  }
  if (o.timeout_ms() == 0 || o.timeout_ms() > kMaxTimeoutMs) {
    return absl::InvalidArgumentError(
        fmt::format("timeout {} ms: 1 to {}", o.timeout_ms(), kMaxTimeoutMs));
  }
  if (o.connect_to_size() > kMaxConnectTo) {
    return absl::InvalidArgumentError(
        fmt::format("{} connect_to entries: at most {}", o.connect_to_size(), kMaxConnectTo));
  }
  if (o.ca_pem().size() > kMaxCaBytes) {
    return absl::InvalidArgumentError(
        fmt::format("ca_pem has {} bytes: at most {}", o.ca_pem().size(), kMaxCaBytes));
  }
  if (absl::Status s = CheckText("user_agent", o.user_agent()); !s.ok()) return s;
  if (absl::Status s = CheckText("resolver", o.resolver()); !s.ok()) return s;
  for (const std::string& entry : o.connect_to()) {
    if (absl::Status s = CheckText("connect_to", entry); !s.ok()) return s;
  }
  return absl::OkStatus();
}

TargetCommand NativeCommand(const std::string& program, const v1::FetchOptions& o) {
  TargetCommand command;
  command.environ = TargetEnvironment();
  std::vector<std::string>& argv = command.argv;
  const auto add = [&argv](std::string_view name, std::string value) {
    argv.emplace_back(name);
    argv.push_back(std::move(value));
  };
  argv.push_back(program);
  add("--format", "jsonl");
  add("--concurrency", fmt::format("{}", o.concurrency()));
  add("--timeout", fmt::format("{}.{:03}", o.timeout_ms() / 1000, o.timeout_ms() % 1000));
  if (!o.user_agent().empty()) add("--user-agent", o.user_agent());
  if (o.max_body_bytes() != 0) add("--max-body", fmt::format("{}", o.max_body_bytes()));
  if (o.threads() != 0) add("--threads", fmt::format("{}", o.threads()));
  if (!o.resolver().empty()) add("--resolver", o.resolver());
  for (const std::string& entry : o.connect_to()) add("--connect-to", entry);
  if (o.deny_private_addresses()) argv.emplace_back("--deny-private");
  if (!o.ca_pem().empty()) {
    command.ca_pem = o.ca_pem();
    add("--ca-file", std::string(kCaFilePath));
  }
  return command;
}

std::vector<std::string> TargetEnvironment() {
  constexpr std::array<std::string_view, 5> kOptions = {
      "CONCURRENCY=", "REQUEST_TIMEOUT=", "USER_AGENT=", "CA_FILE=", "THREADS="};
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const bool option =
        std::any_of(kOptions.begin(), kOptions.end(),
                    [text](std::string_view name) { return text.starts_with(name); });
    if (!option) result.emplace_back(text);
  }
  return result;
}

}  // namespace fetchbench::agent
