#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/bench/bench_figures.h"
#include "coordinator/summary/summary.h"
#include "coordinator/targets/target.h"
#include "coordinator/ui/text_style.h"

namespace fetchbench::coordinator {

// One counted run, or what kept it from being one.
struct BenchRound {
  uint32_t round = 0;
  std::optional<Summary> summary;  // empty: it failed
  std::string folder;              // out/<run-id>
  std::string failure;             // in words; empty: it did not fail
};

// A target and its rounds.
struct BenchRow {
  TargetInfo target;
  std::vector<BenchRound> rounds;

  // Of the rounds that did not fail; as BenchFigures().
  std::vector<Spread> Spreads() const;
  size_t Counted() const;
  // A counted round was ended by DURATION: its `time` says when that was, and nothing of the
  // target.
  bool CutShort() const;
  // Everything that makes its figures worth less, each once, with the number of rounds it is of.
  std::vector<std::string> Marks() const;
  std::vector<std::string> Failures() const;
};

// What the table is about; results hold for it only.
struct BenchFacts {
  std::string version;
  std::string started_at;  // RFC 3339 UTC
  std::string host;
  std::string web;  // "sim:published, seed 1"
  std::string list;
  uint32_t rounds = 0;
  uint64_t order_seed = 0;
  bool partial = false;  // stopped by the user
};

struct BenchResult {
  BenchFacts facts;
  std::vector<BenchRow> rows;

  // By median `time`; then those that were cut short, by how many URLs they did; those without a
  // counted round last. Otherwise in the order they had.
  void Sort();
  // The place of each row, from 1; rows whose spread of `time` overlaps with the first of a place
  // share it. 0: no counted round, or one that was cut short. With one round every row has its own
  // place, because nothing is known of the spread. Rows must be sorted.
  std::vector<size_t> Places() const;
  bool AnyFailed() const;
};

// Each ends with a newline. The text's table is cut into several where the width asks for it.
std::string BenchText(const BenchResult& result, const TextStyle& style);
std::string BenchMarkdown(const BenchResult& result);
std::string BenchCsv(
    const BenchResult& result);  // one line a target, min and max beside each median
std::string BenchJson(const BenchResult& result);  // every round too

}  // namespace fetchbench::coordinator
