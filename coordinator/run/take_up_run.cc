#include "coordinator/run/take_up_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "common/files.h"
#include "coordinator/cli/program_name.h"
#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSpool = "urls.spool";

// With the run's name in front.
absl::Status About(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), fmt::format("{}: {}", path, std::string(status.message())));
}

absl::Status CheckEnd(const ResumeState& state, const ResumeOptions& options) {
  if (state.end == RunEndName(RunEnd::kComplete)) {
    return absl::FailedPreconditionError("the run is complete: there is nothing to resume");
  }
  if (state.end == RunEndName(RunEnd::kDuration) && !options.duration) {
    return absl::FailedPreconditionError(
        fmt::format("the run ended when its DURATION of {} s was reached; to go on with what is "
                    "left, give it another one: --duration SECONDS, 0 for no limit",
                    std::chrono::duration<double>(state.options.duration).count()));
  }
  return absl::OkStatus();
}

absl::Status CheckFiles(const RunFolder& folder, const ResumeState& state) {
  if (!state.list_loaded) {
    if (CanGoOn(state)) return absl::OkStatus();
    return absl::NotFoundError(
        "the list came from standard input and had not been read to its end, so nothing was "
        "fetched: begin a new run");
  }
  for (const char* name : {kSpool, "records.db"}) {
    std::error_code error;
    if (fs::exists(folder.File(name), error)) continue;
    return absl::NotFoundError(
        fmt::format("the file {} is missing: without it the run cannot be resumed", name));
  }
  // Memory is taken for each URL. One takes many bytes of the list, so this is no tight bound.
  std::error_code error;
  const uint64_t list_bytes = fs::file_size(folder.File(kSpool), error);
  if (!error && state.urls > list_bytes) {
    return absl::DataLossError(
        fmt::format("it says that the run has {} URLs, and their list, {} of {} bytes, cannot hold "
                    "them: one of the two is damaged, and the run cannot be resumed",
                    state.urls, kSpool, list_bytes));
  }
  return absl::OkStatus();
}

}  // namespace

std::string FolderOfRun(const std::string& run, const std::string& out) {
  if (run.empty()) return out + "/latest";
  std::error_code error;
  if (run.find('/') != std::string::npos || !fs::exists(out + "/" + run, error)) return run;
  return out + "/" + run;
}

std::string ResumeCommand(const std::string& folder, const std::string& run_id) {
  const std::string run = folder == "out/" + run_id ? run_id : folder;
  return ProgramName() + " resume " + ShellWord(run);
}

bool CanGoOn(const ResumeState& state) { return state.list_loaded || state.options.urls != "-"; }

absl::StatusOr<TakenUpRun> TakeUpRun(const ResumeOptions& options, const TargetRegistry& targets) {
  std::string path = FolderOfRun(options.run, options.out);
  // OUT/latest may point at another run before this one is over.
  std::error_code error;
  if (fs::is_symlink(path, error)) {
    const fs::path link = fs::read_symlink(path, error);
    path = (fs::path(path).parent_path() / link).lexically_normal().string();
  }
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  auto folder = RunFolder::Open(path);
  if (absl::IsNotFound(folder.status())) {
    return absl::NotFoundError(fmt::format(
        "{}: name the id of a run in {}, the folder of --out, or the path of a run's folder",
        std::string(folder.status().message()), options.out));
  }
  if (!folder.ok()) return folder.status();
  const auto text = ReadTextFile(folder->File(ResumeState::kFileName));
  if (absl::IsNotFound(text.status())) {
    return About(
        path, absl::NotFoundError("the coordinator was gone before it had begun: begin a new run"));
  }
  if (!text.ok()) return text.status();
  auto state = ParseResumeState(*text, targets);
  if (!state.ok()) return About(folder->File(ResumeState::kFileName), state.status());
  absl::Status status = CheckEnd(*state, options);
  if (status.ok()) status = CheckFiles(*folder, *state);
  if (!status.ok()) return About(path, status);
  int64_t down_since = folder->LastSignOfLife();
  if (state->ended_us > 0) down_since = state->ended_us;
  if (state->down_since_us > 0) down_since = state->down_since_us;
  if (state->fed_since_us > 0) {
    state->fed_us += std::max<int64_t>(down_since - state->fed_since_us, 0);
    state->fed_since_us = 0;
  }
  state->identity.folder = path;
  return TakenUpRun{*std::move(folder), *std::move(state), down_since};
}

RunOptions OptionsOfResumed(const ResumeState& state, const ResumeOptions& given) {
  RunOptions options = state.options;
  options.format = given.format;
  options.progress = given.progress;
  options.log_level = given.log_level;
  options.credentials.default_place = given.credentials.default_place;
  if (!given.credentials.named.empty()) options.credentials.named = given.credentials.named;
  options.log_format = given.log_format;
  options.meter = given.meter;
  options.origin = given.origin.value_or(options.origin);
  options.give_up_after = given.give_up_after.value_or(options.give_up_after);
  options.connect_timeout = given.connect_timeout.value_or(options.connect_timeout);
  if (given.duration) {
    options.duration = *given.duration;
  } else if (options.duration.count() > 0) {
    // What earlier sessions have left of it; at least so much that it is not taken for none.
    const std::chrono::microseconds fed(state.fed_us);
    options.duration = std::max(options.duration - fed, std::chrono::microseconds(1));
  }
  return options;
}

}  // namespace fetchbench::coordinator
