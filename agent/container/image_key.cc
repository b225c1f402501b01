#include "agent/container/image_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "common/docker/sha256.h"

namespace fetchbench::agent {
namespace {

constexpr size_t kMaxNameBytes = 100;
constexpr size_t kDigestDigits = 64;
constexpr size_t kTagDigits = 16;
constexpr int kMaxArguments = 200;
constexpr size_t kMaxArgumentBytes = 16 << 10;

bool IsLower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// What may be the last part of an image's name.
bool IsImageName(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes) return false;
  if (!IsLower(name.front()) || !IsLower(name.back())) return false;
  char before = 'a';
  for (const char c : name) {
    if (!IsLower(c) && c != '-' && c != '.' && c != '_') return false;
    if (!IsLower(c) && !IsLower(before) && !(c == '-' && before == '-')) return false;
    before = c;
  }
  return true;
}

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

absl::Status CheckArguments(const v1::TargetSpec& target) {
  if (target.build_args_size() > kMaxArguments) {
    return absl::InvalidArgumentError(
        fmt::format("{} build arguments: at most {}", target.build_args_size(), kMaxArguments));
  }
  for (const auto& [name, value] : target.build_args()) {
    if (name.empty() || name.find_first_of("= \n\t") != std::string::npos ||
        name.size() + value.size() > kMaxArgumentBytes) {
      return absl::InvalidArgumentError(
          fmt::format("build argument '{}' is not a name, or too long", name.substr(0, 80)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImageKey> KeyOf(const v1::TargetSpec& target) {
  std::string name = target.name();
  std::replace(name.begin(), name.end(), '/', '-');
  if (!IsImageName(name) || target.name().find("//") != std::string::npos) {
    return absl::InvalidArgumentError(fmt::format(
        "target name '{}': lower-case letters, digits, and single '-', '_', '.' or '/' between "
        "them, at most {} bytes",
        target.name().substr(0, kMaxNameBytes), kMaxNameBytes));
  }
  const std::string& context = target.context_sha256();
  if (context.size() != kDigestDigits || !IsHex(context)) {
    return absl::InvalidArgumentError(
        fmt::format("target {}: context_sha256 must be 64 lower-case hex digits", target.name()));
  }
  if (absl::Status s = CheckArguments(target); !s.ok()) return s;
  // Lengths keep parts apart whatever they hold.
  std::string text = context;
  const std::map<std::string, std::string> sorted(target.build_args().begin(),
                                                  target.build_args().end());
  for (const auto& [arg, value] : sorted) {
    text += fmt::format("\n{}:{}={}:{}", arg.size(), arg, value.size(), value);
  }
  ImageKey key;
  key.digest = docker::Sha256Hex(text);
  key.repository = "fetchbench/" + name;
  key.tag = key.digest.substr(0, kTagDigits);
  return key;
}

}  // namespace fetchbench::agent
