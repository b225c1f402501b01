#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "common/docker/engine_address.h"
#include "common/docker/sha256.h"
#include "common/docker/tar_writer.h"

namespace fetchbench::test {

// The Engine's socket, where one is within reach; else empty: such tests are skipped.
inline std::string EngineSocket() {
  const auto path = docker::SocketPathFromEnvironment();
  return path.ok() && access(path->c_str(), R_OK | W_OK) == 0 ? *path : std::string();
}

inline constexpr const char* kNoEngine =
    "no Docker Engine within reach: start one, or name its socket with DOCKER_HOST=unix://PATH";

// A build context with a Dockerfile, the static container target as `target`, and executable files
// by name and text.
inline std::string TargetContext(const std::string& dockerfile,
                                 const std::map<std::string, std::string>& more = {}) {
  const std::filesystem::path bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::ifstream in(bin / "fetchbench-container-target", std::ios::binary);
  const std::string program{std::istreambuf_iterator<char>(in), {}};
  std::string bytes;
  docker::TarWriter tar([&bytes](std::string_view piece) {
    bytes += piece;
    return absl::OkStatus();
  });
  EXPECT_FALSE(program.empty());
  EXPECT_TRUE(tar.AddFile("Dockerfile", dockerfile, false).ok());
  EXPECT_TRUE(tar.AddFile("target", program, true).ok());
  for (const auto& [name, text] : more) EXPECT_TRUE(tar.AddFile(name, text, true).ok());
  EXPECT_TRUE(tar.Finish().ok());
  return bytes;
}

inline constexpr const char* kTargetDockerfile =
    "FROM scratch\nCOPY target /target\nENTRYPOINT [\"/target\"]\n";

}  // namespace fetchbench::test
