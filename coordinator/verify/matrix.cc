#include "coordinator/verify/matrix.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace fetchbench::coordinator {
namespace {

bool Says(const Deviation& declared, const Finding& finding) {
  return std::ranges::find(declared.observed, finding.token) != declared.observed.end();
}

const Deviation* Covering(const std::string& behaviour, const Finding& finding,
                          const std::vector<Deviation>& declared) {
  for (const Deviation& deviation : declared) {
    const bool here = std::ranges::any_of(
        deviation.behaviours,
        [&behaviour](const std::string& pattern) { return MatchesPattern(pattern, behaviour); });
    if (here && Says(deviation, finding)) return &deviation;
  }
  return nullptr;
}

bool Happened(const Deviation& deviation, const std::string& pattern,
              const std::vector<std::string>& names, const std::vector<Cell>& cells, bool& known) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (!MatchesPattern(pattern, names[i]) || cells[i].verdict == CellVerdict::kNotRun) continue;
    known = true;
    for (const Finding& finding : cells[i].findings) {
      if (Says(deviation, finding)) return true;
    }
  }
  return false;
}

}  // namespace

bool MatchesPattern(std::string_view pattern, std::string_view behaviour) {
  if (!pattern.ends_with('*')) return pattern == behaviour;
  pattern.remove_suffix(1);
  return behaviour.starts_with(pattern);
}

std::string_view CellVerdictName(CellVerdict verdict) {
  switch (verdict) {
    case CellVerdict::kPass:
      return "pass";
    case CellVerdict::kDeviation:
      return "deviation";
    case CellVerdict::kFail:
      return "FAIL";
    case CellVerdict::kNotRun:
      return "not run";
  }
  return "";
}

Cell MakeCell(const std::string& behaviour, std::vector<Finding> findings,
              const std::vector<Deviation>& declared) {
  Cell cell;
  cell.verdict = findings.empty() ? CellVerdict::kPass : CellVerdict::kDeviation;
  for (const Finding& finding : findings) {
    const Deviation* deviation = Covering(behaviour, finding, declared);
    if (deviation == nullptr) {
      cell.verdict = CellVerdict::kFail;
      continue;
    }
    Reason reason{deviation->why, deviation->reference};
    if (std::ranges::find(cell.reasons, reason) == cell.reasons.end()) {
      cell.reasons.push_back(std::move(reason));
    }
  }
  cell.findings = std::move(findings);
  return cell;
}

bool IsDeclared(const std::string& behaviour, const Finding& finding,
                const std::vector<Deviation>& declared) {
  return Covering(behaviour, finding, declared) != nullptr;
}

size_t MatrixColumn::Count(CellVerdict verdict) const {
  const auto counted = static_cast<size_t>(std::ranges::count_if(
      cells, [verdict](const Cell& cell) { return cell.verdict == verdict; }));
  return verdict == CellVerdict::kFail ? counted + faults.size() : counted;
}

bool Matrix::Failed() const {
  return std::ranges::any_of(columns, [](const MatrixColumn& column) {
    return column.Count(CellVerdict::kFail) > 0 || !column.stale.empty();
  });
}

std::vector<std::string> FindStale(const std::vector<std::string>& names,
                                   const std::vector<Cell>& cells,
                                   const std::vector<Deviation>& declared, bool all_rows) {
  std::vector<std::string> stale;
  for (const Deviation& deviation : declared) {
    if (deviation.sometimes) continue;
    for (const std::string& pattern : deviation.behaviours) {
      bool known = false;
      if (Happened(deviation, pattern, names, cells, known)) continue;
      const bool exists = std::ranges::any_of(
          names, [&pattern](const std::string& name) { return MatchesPattern(pattern, name); });
      if (!exists && all_rows) {
        stale.push_back(fmt::format("{}: no behaviour is called so", pattern));
      } else if (exists && known) {
        stale.push_back(fmt::format("{}: {} was declared and did not happen", pattern,
                                    fmt::join(deviation.observed, " or ")));
      }
    }
  }
  return stale;
}

}  // namespace fetchbench::coordinator
