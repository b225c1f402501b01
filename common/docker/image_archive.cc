#include "common/docker/image_archive.h"

#include <boost/json.hpp>

#include "common/docker/engine_json.h"

namespace fetchbench::docker {
namespace {

namespace json = boost::json;

// What the Engine knows images by, in the layouts that it writes and reads.
constexpr const char* kManifest = "manifest.json";     // of all Engines
constexpr const char* kRepositories = "repositories";  // of old ones: name -> tag -> id
constexpr const char* kIndex = "index.json";           // OCI's
constexpr size_t kMaxListBytes = 1 << 20;

absl::Status Wrong(const char* what) {
  return absl::InvalidArgumentError(std::string("an image's archive ") + what);
}

// The Engine takes a member whatever its case: whoever looks for one name alone misses others.
bool IsMember(std::string_view name) {
  return name == "Config" || name == "RepoTags" || name == "Layers" || name == "Parent" ||
         name == "LayerSources";
}

absl::Status CheckManifest(const std::string& text) {
  boost::system::error_code error;
  const json::value value = json::parse({text.data(), text.size()}, error);
  const bool one = !error && value.is_array() && value.get_array().size() == 1 &&
                   value.get_array().front().is_object();
  if (!one) return Wrong("does not list exactly one image (manifest.json)");
  for (const auto& [key, member] : value.get_array().front().get_object()) {
    const std::string_view name(key.data(), key.size());
    if (!IsMember(name)) return Wrong("has a manifest.json with members that are not known");
    const bool empty = member.is_null() || (member.is_array() && member.get_array().empty());
    if (name == "RepoTags" && !empty) return Wrong("gives its image a name (manifest.json)");
  }
  return absl::OkStatus();
}

absl::Status CheckRepositories(const std::string& text) {
  const auto object = ParseObject(text);
  if (!object.ok() || !object->empty()) return Wrong("gives an image a name (repositories)");
  return absl::OkStatus();
}

// A name is an annotation, anywhere in it. Members that come twice are merged by some readers, so
// the text itself is searched; what could hide a name in it is an escape.
absl::Status CheckIndex(const std::string& text) {
  for (const char* words :
       {"io.containerd.image.name", "org.opencontainers.image.ref.name", "\\"}) {
    if (text.find(words) != std::string::npos) {
      return Wrong("gives an image a name, or may do so (index.json)");
    }
  }
  return absl::OkStatus();
}

}  // namespace

ImageArchiveCheck::ImageArchiveCheck() : check_("an image's archive") {
  for (const char* list : {kManifest, kRepositories, kIndex}) check_.Keep(list, kMaxListBytes);
}

absl::Status ImageArchiveCheck::End() const {
  if (absl::Status s = check_.End(); !s.ok()) return s;
  const std::string* manifest = check_.Kept(kManifest);
  if (manifest == nullptr) return Wrong("has no manifest.json");
  if (absl::Status s = CheckManifest(*manifest); !s.ok()) return s;
  if (const std::string* names = check_.Kept(kRepositories); names != nullptr) {
    if (absl::Status s = CheckRepositories(*names); !s.ok()) return s;
  }
  const std::string* index = check_.Kept(kIndex);
  return index == nullptr ? absl::OkStatus() : CheckIndex(*index);
}

}  // namespace fetchbench::docker
