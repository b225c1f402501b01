#include "common/docker/owner.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "common/boot_id.h"
#include "common/files.h"

namespace fetchbench::docker {
namespace {

uint64_t PidNamespace() {
  struct stat info {};
  return stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

// starttime, field 22 of proc(5), counted from the state (field 3) behind the name. A zombie is not
// alive.
std::optional<uint64_t> StartTicks(pid_t pid) {
  const std::string text = ReadWholeFile(fmt::format("/proc/{}/stat", pid));
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return std::nullopt;
  if (text[name_end + 2] == 'Z' || text[name_end + 2] == 'X') return std::nullopt;
  size_t at = name_end + 2;
  for (int field = 3; field < 22; ++field) {
    at = text.find(' ', at);
    if (at == std::string::npos) return std::nullopt;
    ++at;
  }
  uint64_t ticks = 0;
  std::from_chars(text.data() + at, text.data() + text.size(), ticks);
  return ticks;
}

// The part up to the next '-', which is taken off the text.
std::string_view TakePart(std::string_view& text) {
  const size_t end = text.find('-');
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return part;
}

template <typename T>
bool ToNumber(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<Owner> Parse(std::string_view text) {
  Owner owner;
  if (!ToNumber(TakePart(text), owner.pid) || !ToNumber(TakePart(text), owner.start_ticks)) {
    return std::nullopt;
  }
  owner.boot_id = TakePart(text);
  if (owner.boot_id.empty() || !ToNumber(TakePart(text), owner.pid_namespace) || !text.empty()) {
    return std::nullopt;
  }
  return owner;
}

}  // namespace

std::string Owner::Text() const {
  return fmt::format("{}-{}-{}-{}", pid, start_ticks, boot_id, pid_namespace);
}

Owner ThisProcess() {
  return Owner{getpid(), StartTicks(getpid()).value_or(0), BootId(), PidNamespace()};
}

OwnerState StateOf(std::string_view text) {
  const std::optional<Owner> owner = Parse(text);
  if (!owner) return OwnerState::kUnknown;
  if (owner->boot_id != BootId()) return OwnerState::kGone;
  if (owner->pid_namespace != PidNamespace()) return OwnerState::kUnknown;
  const std::optional<uint64_t> ticks = StartTicks(owner->pid);
  return ticks && *ticks == owner->start_ticks ? OwnerState::kAlive : OwnerState::kGone;
}

void RemoveFoldersOfTheGone(std::string_view prefix) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(TemporaryFolder(), error)) {
    std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    name = name.substr(prefix.size());
    if (StateOf(name.substr(0, name.find('.'))) != OwnerState::kGone) continue;
    std::error_code ignored;
    fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace fetchbench::docker
