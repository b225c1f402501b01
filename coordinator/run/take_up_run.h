#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/cli/options.h"
#include "coordinator/run/resume_state.h"
#include "coordinator/run/run_folder.h"

namespace fetchbench::coordinator {

// A run of an earlier coordinator that this one goes on with. Nobody else can, while it lives.
struct TakenUpRun {
  RunFolder folder;
  ResumeState state;  // as it was left
  // The earlier coordinator's last sign of life, UTC microseconds.
  int64_t down_since_us = 0;
};

// The folder that `run` means: a folder, or the id of a run below `out`; empty: OUT/latest.
std::string FolderOfRun(const std::string& run, const std::string& out);

// What a person types to go on with the run in `folder`: `coordinator resume ...`.
std::string ResumeCommand(const std::string& folder, const std::string& run_id);

// Whether what such a run leaves is enough to go on with it: its list, or the file to read it from.
// Pure.
bool CanGoOn(const ResumeState& state);

// Finds the run, locks its folder and reads its state. Errors, all of which say what to do:
// NotFound: there is no such run, or its list is gone. FailedPrecondition: its coordinator is at
// work, it is complete, it reached its duration (and `options` sets no new one), another version
// began it. DataLoss: its files are damaged.
absl::StatusOr<TakenUpRun> TakeUpRun(const ResumeOptions& options, const TargetRegistry& targets);

// Those of the run, with what was given when it was resumed.
RunOptions OptionsOfResumed(const ResumeState& state, const ResumeOptions& given);

}  // namespace fetchbench::coordinator
