#include "coordinator/cli/import_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "common/standard_streams.h"
#include "coordinator/input/import_urls.h"
#include "coordinator/input/url_list.h"

namespace fetchbench::coordinator {
namespace {

constexpr size_t kWriteBytes = 256 * 1024;

ExitCode Complain(ExitCode code, std::string_view text) {
  WriteText(STDERR_FILENO, fmt::format("coordinator: {}\n", text)).IgnoreError();
  return code;
}

ExitCode Import(LineReader& reader, std::optional<ListFormat> format, const std::string& name) {
  std::string out;
  absl::Status written;
  uint64_t urls = 0;
  uint64_t skipped = 0;
  while (true) {
    const auto line = reader.Next();
    if (!line.ok()) return Complain(ExitCode::kInternalError, std::string(line.status().message()));
    if (!line->has_value()) break;
    if (!format) format = GuessListFormat(**line);
    if (!format) {
      return Complain(ExitCode::kUsage,
                      fmt::format("{} looks like none of the known lists; name its format with "
                                  "--input-format",
                                  name));
    }
    if (const auto url = ImportLine(*format, **line)) {
      out.append(*url).push_back('\n');
      ++urls;
    } else {
      ++skipped;
    }
    if (out.size() < kWriteBytes) continue;
    written = WriteToReader(STDOUT_FILENO, std::exchange(out, {}));
    if (!written.ok()) break;
  }
  if (written.ok()) written = WriteToReader(STDOUT_FILENO, out);
  if (absl::IsCancelled(written)) return ExitCode::kDone;  // the reader had enough
  if (!written.ok()) {
    return Complain(ExitCode::kInternalError,
                    fmt::format("standard output: {}", std::string(written.message())));
  }
  // A header is the one line that is always skipped.
  if (skipped > 1) {
    Complain(ExitCode::kDone,
             fmt::format("{}: {} URLs; {} lines without a domain skipped", name, urls, skipped));
  }
  return ExitCode::kDone;
}

}  // namespace

ExitCode ImportUrls(const ImportOptions& options) {
  const auto fd = OpenUrlList(options.file);
  if (!fd.ok()) return Complain(ExitCode::kUsage, std::string(fd.status().message()));
  const std::atomic<bool> stop{false};
  LineReader reader(*fd, stop);
  const ExitCode code = Import(reader, ParseListFormat(options.format),
                               options.file == "-" ? "standard input" : options.file);
  if (*fd != STDIN_FILENO) close(*fd);
  return code;
}

}  // namespace fetchbench::coordinator
