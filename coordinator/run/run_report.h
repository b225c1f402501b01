#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/cli/options.h"
#include "coordinator/input/url_list.h"
#include "coordinator/run/agent_board.h"
#include "coordinator/run/lease_book.h"
#include "coordinator/summary/summary.h"
#include "coordinator/ui/progress_model.h"
#include "coordinator/web/origin_client.h"

namespace fetchbench::coordinator {

// What a run's files and tables say beside what its records say. Pure: text and data from data.

struct RunIdentity {
  std::string run_id;
  std::string folder;
  int64_t started_us = 0;
  std::string list_name;
};

// What a target's image was built on, one text each: "golang:1@sha256:..." with its digest in the
// registry, else "NAME (image sha256:...)".
std::vector<std::string> BasesInWords(const v1::TargetFacts& target);

// `prepared`: what the target told before it was started; null: nothing yet.
RunFacts MakeFacts(const RunOptions& options, const RunIdentity& identity,
                   const OriginConfig* origin, const AgentBoard* board,
                   const v1::TargetFacts* prepared);

// `counts` is empty when the run ended before its list was read.
Ledger MakeLedger(const ListCounts& list, const std::optional<LeaseCounts>& counts,
                  uint64_t committed);

// run.json: everything needed to know what was run and to run it again, and which agents were
// disturbed in `earlier` sessions of it; no secrets.
std::string MakeRunJson(const RunOptions& options, const RunIdentity& identity,
                        const OriginConfig* origin, const AgentBoard* board,
                        const v1::TargetFacts* prepared, const std::vector<Disturbance>& earlier);

// "native, sim:published, seed 1": the display's title.
std::string MakeTitle(const RunOptions& options);

// The very first line: which web this run is about to touch.
std::string WebLine(const RunOptions& options);

}  // namespace fetchbench::coordinator
