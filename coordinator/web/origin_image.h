#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/docker/engine_client.h"
#include "common/net.h"

namespace fetchbench::coordinator {

inline constexpr std::string_view kOriginRepository = "fetchbench/origin";

// The root file system of the origin's image: path inside -> where it comes from, or its text.
struct OriginRoot {
  struct File {
    std::string source;  // on this machine; empty: `text`
    std::string text;
    bool executable = false;
  };
  std::map<std::string, File> files;         // paths without the first slash
  std::vector<std::string> library_folders;  // where the loader looks
  std::string sha256;                        // hex, of the archive
};

// What the built origin needs to run: itself, its shared libraries, the profiles. Reads every file
// once. Blocks.
absl::StatusOr<OriginRoot> MakeOriginRoot(const std::string& program, const std::string& profiles);

// The image of exactly this origin, made if it is not there; those of origins before it are removed
// then (common/docker/old_images.h). Its reference.
Task<absl::StatusOr<std::string>> EnsureOriginImage(docker::EngineClient engine,
                                                    std::string program, std::string profiles);

}  // namespace fetchbench::coordinator
