#include <vector>

#include "absl/container/flat_hash_map.h"
#include "origin/behaviours/behaviour.h"

namespace fetchbench::origin {
namespace {

// Every table is named here once.
std::vector<const ConformanceHost*> Collect() {
  std::vector<const ConformanceHost*> all;
  for (const auto& table :
       {DnsBehaviours(), ConnectBehaviours(), TlsBehaviours(), HeaderBehaviours(),
        FramingBehaviours(), BodyBehaviours(), TimeoutBehaviours(), RedirectBehaviours()}) {
    for (const ConformanceHost& host : table) all.push_back(&host);
  }
  return all;
}

const std::vector<const ConformanceHost*>& All() {
  static const std::vector<const ConformanceHost*> all = Collect();
  return all;
}

using Index = absl::flat_hash_map<std::string, const ConformanceHost*>;

Index MakeIndex() {
  Index index;
  for (const ConformanceHost* host : All()) index.emplace(std::string(host->name), host);
  return index;
}

}  // namespace

bool IsConformanceHost(std::string_view host) {
  return host.size() > kConformanceDomain.size() + 1 && host.ends_with(kConformanceDomain) &&
         host[host.size() - kConformanceDomain.size() - 1] == '.';
}

std::string_view BehaviourLabel(std::string_view host) {
  if (!IsConformanceHost(host)) return {};
  host.remove_suffix(kConformanceDomain.size() + 1);
  const size_t dot = host.rfind('.');
  return dot == std::string_view::npos ? host : host.substr(dot + 1);
}

const ConformanceHost* FindBehaviour(std::string_view host) {
  static const Index index = MakeIndex();
  const auto it = index.find(std::string(BehaviourLabel(host)));
  return it == index.end() ? nullptr : it->second;
}

std::span<const ConformanceHost* const> AllBehaviours() { return All(); }

}  // namespace fetchbench::origin
