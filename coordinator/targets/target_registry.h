#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "coordinator/targets/target.h"
#include "coordinator/ui/text_style.h"

namespace fetchbench::coordinator {

// One target.json as found.
struct TargetFile {
  std::string path;    // for messages
  std::string name;    // "rust/reqwest": its folder below lib/
  std::string folder;  // where it lies
  std::string text;
};

// All targets that can be named, and what is wrong with those that cannot. Immutable; `native` is
// always there.
class TargetRegistry {
 public:
  // `native` alone.
  TargetRegistry();
  // Beside native; for tests and for BuildRegistry.
  explicit TargetRegistry(std::vector<TargetInfo> containers,
                          std::vector<std::string> problems = {});

  // By name or alias; null when there is none.
  const TargetInfo* Find(std::string_view name) const;
  // `native` first, then by name.
  const std::vector<TargetInfo>& targets() const { return targets_; }
  // A line each, "PATH: FIELD: what is wrong".
  const std::vector<std::string>& problems() const { return problems_; }
  std::vector<std::string> Names() const;
  // Names and aliases.
  std::vector<std::string> Words() const;

 private:
  std::vector<TargetInfo> targets_;
  std::vector<std::string> problems_;
};

// A bad file hides no other; an alias that is taken goes to the first of the names. Pure.
TargetRegistry BuildRegistry(const std::vector<TargetFile>& files);

// FETCHBENCH_LIB, or lib/ of the source tree.
std::string LibFolder(const Environment& env);

// Reads LIB/*/*/target.json. Folders without one are none of ours; what cannot be read is a
// problem of the registry.
TargetRegistry ScanTargets(const std::string& lib);

}  // namespace fetchbench::coordinator
