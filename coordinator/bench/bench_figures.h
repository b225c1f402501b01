#pragma once

#include <string>
#include <vector>

#include "coordinator/summary/summary.h"

namespace fetchbench::coordinator {

// A figure of the benchmark's table: those of the original benchmark under their own names, then
// p50, p99, and what the run cost.
struct BenchFigure {
  std::string name;  // column, CSV field and JSON member: "okReqsSec"
  int decimals = 0;
  double (*of)(const Summary&) = nullptr;
};

const std::vector<BenchFigure>& BenchFigures();

// Over the rounds of one target.
struct Spread {
  double median = 0;  // of an even number of values: the mean of the middle two
  double min = 0;
  double max = 0;

  // Half the range, as a fraction of the median; 0 when that is 0.
  double Relative() const { return median > 0 ? (max - min) / 2 / median : 0; }
  bool Overlaps(const Spread& other) const { return min <= other.max && other.min <= max; }
};

// All 0 for no values.
Spread SpreadOf(std::vector<double> values);

}  // namespace fetchbench::coordinator
