#include "coordinator/host/shared_libraries.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>

#include "common/status_util.h"

namespace fetchbench::coordinator {
namespace {

constexpr size_t kHeadBytes = 64 << 10;  // where linkers put program headers and the loader's name
constexpr size_t kMaxListBytes = 256 << 10;
constexpr std::chrono::seconds kListLimit{10};

template <typename Header>
bool ReadAt(std::string_view bytes, uint64_t offset, Header& header) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(header)) return false;
  std::memcpy(&header, bytes.data() + offset, sizeof(header));
  return true;
}

// All that comes within the limit.
absl::Status ReadAll(int fd, std::string& text) {
  const auto deadline = std::chrono::steady_clock::now() + kListLimit;
  std::array<char, 4096> part{};
  while (text.size() < kMaxListBytes) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) == 0) {
      return absl::DeadlineExceededError("it did not end in time");
    }
    const ssize_t n = read(fd, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FromErrno(errno, "reading its output");
    if (n == 0) return absl::OkStatus();
    text.append(part.data(), static_cast<size_t>(n));
  }
  return absl::ResourceExhaustedError("it printed too much");
}

// Standard output of a program that ends by itself.
absl::StatusOr<std::string> OutputOf(std::vector<std::string> arguments) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return FromErrno(errno, "cannot make a pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  absl::Status status;
  if (error != 0) {
    status = FromErrno(error, "cannot start it");
  } else {
    status = ReadAll(ends[0], text);
    if (!status.ok()) kill(pid, SIGKILL);
    int ended = 0;
    if (waitpid(pid, &ended, 0) == pid && status.ok() && ended != 0) {
      status = absl::InternalError("it failed");
    }
  }
  close(ends[0]);
  if (status.ok()) return text;
  return absl::Status(status.code(),
                      fmt::format("{}: {}", arguments[0], std::string(status.message())));
}

}  // namespace

absl::StatusOr<std::string> LoaderOf(std::string_view bytes) {
  const absl::Status wrong = absl::InvalidArgumentError("not a 64-bit ELF program");
  Elf64_Ehdr header{};
  if (!ReadAt(bytes, 0, header)) return wrong;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return wrong;
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return wrong;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!ReadAt(bytes, header.e_phoff + i * header.e_phentsize, segment)) return wrong;
    if (segment.p_type != PT_INTERP) continue;
    if (segment.p_offset > bytes.size() || bytes.size() - segment.p_offset < segment.p_filesz) {
      return wrong;
    }
    const std::string_view name = bytes.substr(segment.p_offset, segment.p_filesz);
    return std::string(name.substr(0, name.find('\0')));
  }
  return std::string();
}

absl::StatusOr<std::vector<std::string>> ParseLibraryList(std::string_view text) {
  std::vector<std::string> paths;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find("=> not found") != std::string_view::npos) {
      return absl::NotFoundError(fmt::format("a shared library is missing:{}", line));
    }
    // "\tlibz.so.1 => /lib/libz.so.1 (0x7f..)", "\t/lib64/ld-linux.so.2 (0x7f..)"; the vDSO has no
    // path.
    const size_t begin = line.find('/');
    if (begin == std::string_view::npos) continue;
    line.remove_prefix(begin);
    if (const size_t arrow = line.find(" => "); arrow != std::string_view::npos) {
      line.remove_prefix(arrow + 4);
    }
    paths.emplace_back(line.substr(0, line.rfind(" (0x")));
  }
  return paths;
}

absl::StatusOr<std::vector<std::string>> SharedLibraries(const std::string& program) {
  if (access(program.c_str(), R_OK) != 0) return FromErrno(errno, program);
  std::ifstream stream(program, std::ios::binary);
  std::string head(kHeadBytes, '\0');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(stream.gcount()));
  const auto loader = LoaderOf(head);
  if (!loader.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {}", program, std::string(loader.status().message())));
  }
  if (loader->empty()) return std::vector<std::string>();
  const auto text = OutputOf({*loader, "--list", program});
  if (!text.ok()) return text.status();
  auto paths = ParseLibraryList(*text);
  if (!paths.ok()) return paths;
  paths->push_back(*loader);
  std::sort(paths->begin(), paths->end());
  paths->erase(std::unique(paths->begin(), paths->end()), paths->end());
  return paths;
}

}  // namespace fetchbench::coordinator
