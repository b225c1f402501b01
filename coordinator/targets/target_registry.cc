#include "coordinator/targets/target_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "common/files.h"
#include "coordinator/targets/target_json.h"

#ifndef FETCHBENCH_SOURCE
#error "the build defines FETCHBENCH_SOURCE"
#endif

namespace fetchbench::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFileBytes = 1 << 20;

// How a client that was built with fetchbench is named; never an alias of another.
TargetInfo Native() { return {"native", "C++", "Beast", 150}; }

std::vector<fs::path> FoldersIn(const fs::path& folder, std::vector<std::string>& problems) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const bool hidden = it->path().filename().string().starts_with('.');
    if (!hidden && it->is_directory(ignored)) folders.push_back(it->path());
  }
  if (error) problems.push_back(fmt::format("{}: {}", folder.string(), error.message()));
  std::sort(folders.begin(), folders.end());
  return folders;
}

// False: there is none. What cannot be read leaves an empty text and a problem.
bool ReadTarget(const fs::path& folder, TargetFile& file, std::vector<std::string>& problems) {
  file.path = (folder / "target.json").string();
  file.folder = folder.string();
  const absl::Status is_file = CheckIsFile(file.path);
  if (absl::IsNotFound(is_file)) return false;
  absl::StatusOr<std::string> text =
      is_file.ok() ? ReadTextFile(file.path, kMaxFileBytes) : absl::StatusOr<std::string>(is_file);
  if (!text.ok()) {
    problems.emplace_back(text.status().message());
    return false;
  }
  file.text = *std::move(text);
  return true;
}

}  // namespace

TargetRegistry::TargetRegistry() : TargetRegistry(std::vector<TargetInfo>()) {}

TargetRegistry::TargetRegistry(std::vector<TargetInfo> containers,
                               std::vector<std::string> problems)
    : targets_(std::move(containers)), problems_(std::move(problems)) {
  std::sort(targets_.begin(), targets_.end(),
            [](const TargetInfo& a, const TargetInfo& b) { return a.name < b.name; });
  targets_.insert(targets_.begin(), Native());
}

const TargetInfo* TargetRegistry::Find(std::string_view name) const {
  for (const TargetInfo& target : targets_) {
    const auto& aliases = target.aliases;
    if (target.name == name || std::find(aliases.begin(), aliases.end(), name) != aliases.end()) {
      return &target;
    }
  }
  return nullptr;
}

std::vector<std::string> TargetRegistry::Names() const {
  std::vector<std::string> names;
  names.reserve(targets_.size());
  for (const TargetInfo& target : targets_) names.push_back(target.name);
  return names;
}

std::vector<std::string> TargetRegistry::Words() const {
  std::vector<std::string> words = Names();
  for (const TargetInfo& target : targets_) {
    words.insert(words.end(), target.aliases.begin(), target.aliases.end());
  }
  return words;
}

TargetRegistry BuildRegistry(const std::vector<TargetFile>& files) {
  std::vector<TargetInfo> targets;
  std::vector<std::string> problems;
  std::map<std::string, std::string> taken{{Native().name, Native().name}};  // alias -> target
  for (const TargetFile& file : files) {
    ParsedTarget parsed = ParseTarget(file.text, file.name);
    if (!parsed.problems.empty()) {
      for (const std::string& problem : parsed.problems) {
        problems.push_back(fmt::format("{}: {}", file.path, problem));
      }
      continue;
    }
    parsed.target.folder = file.folder;
    std::erase_if(parsed.target.aliases, [&](const std::string& alias) {
      const auto [it, is_new] = taken.emplace(alias, file.name);
      if (is_new) return false;
      problems.push_back(
          fmt::format("{}: aliases: '{}' belongs to {} already", file.path, alias, it->second));
      return true;
    });
    targets.push_back(std::move(parsed.target));
  }
  return TargetRegistry(std::move(targets), std::move(problems));
}

std::string LibFolder(const Environment& env) {
  const auto given = env("FETCHBENCH_LIB");
  return given && !given->empty() ? *given : FETCHBENCH_SOURCE "/lib";
}

TargetRegistry ScanTargets(const std::string& lib) {
  std::vector<TargetFile> files;
  std::vector<std::string> problems;
  for (const fs::path& language : FoldersIn(lib, problems)) {
    for (const fs::path& method : FoldersIn(language, problems)) {
      TargetFile file;
      file.name = language.filename().string() + "/" + method.filename().string();
      if (ReadTarget(method, file, problems)) files.push_back(std::move(file));
    }
  }
  const TargetRegistry built = BuildRegistry(files);
  problems.insert(problems.end(), built.problems().begin(), built.problems().end());
  std::vector<TargetInfo> containers(built.targets().begin() + 1, built.targets().end());
  return TargetRegistry(std::move(containers), std::move(problems));
}

}  // namespace fetchbench::coordinator
