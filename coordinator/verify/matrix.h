#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "coordinator/targets/target.h"
#include "coordinator/ui/text_style.h"
#include "coordinator/verify/judge.h"

namespace fetchbench::coordinator {

enum class CellVerdict { kPass, kDeviation, kFail, kNotRun };
std::string_view CellVerdictName(CellVerdict verdict);  // "pass", "deviation", "FAIL", "not run"

// What target.json says to a finding.
struct Reason {
  std::string why;
  std::string reference;

  bool operator==(const Reason&) const = default;
};

struct Cell {
  CellVerdict verdict = CellVerdict::kNotRun;
  std::vector<Finding> findings = {};
  std::vector<Finding> once = {};    // not seen again by a second look; no part of the verdict
  std::vector<Reason> reasons = {};  // of the findings that are declared, each once
  std::string not_run = {};          // why not; empty: it was, or nobody wanted it to be
};

// Whether a behaviour is meant: "prefix-*" stands for all that begin so. Pure.
bool MatchesPattern(std::string_view pattern, std::string_view behaviour);

// Findings that are all covered by declared deviations are a deviation; one that is not makes it
// FAIL. Pure.
Cell MakeCell(const std::string& behaviour, std::vector<Finding> findings,
              const std::vector<Deviation>& declared);

// Whether a declared deviation says that the behaviour may show this. Pure.
bool IsDeclared(const std::string& behaviour, const Finding& finding,
                const std::vector<Deviation>& declared);

// A target's column.
struct MatrixColumn {
  std::string target = {};
  std::string runtime = {};             // what really ran: "Go 1.26.1; net/http"
  std::vector<Cell> cells = {};         // as Matrix::behaviours
  std::vector<std::string> stale = {};  // deviations that did not happen, for people
  // What is wrong with it in no cell of its own, for people: lines that nobody asked for. Each is a
  // FAIL that no deviation covers.
  std::vector<std::string> faults = {};
  std::string not_run = {};  // why nothing of it was run; empty: it was

  // Of cells; with kFail of faults too.
  size_t Count(CellVerdict verdict) const;
};

struct Matrix {
  std::vector<std::string> behaviours = {};  // names of the rows
  std::vector<std::string> families = {};    // of each row
  std::vector<MatrixColumn> columns = {};
  bool partial = false;  // stopped by the user: columns are missing

  // Exit 4: a cell is FAIL, there is a fault, or a deviation is stale.
  bool Failed() const;
};

// Lines for people: each declared pattern none of whose behaviours showed any of what it says.
// `names` and `cells` belong together; cells that were not run are no evidence. `all_rows`: there
// is no behaviour beside `names`, so that a pattern which fits none of them is wrong. Pure.
std::vector<std::string> FindStale(const std::vector<std::string>& names,
                                   const std::vector<Cell>& cells,
                                   const std::vector<Deviation>& declared, bool all_rows);

// Each ends with a newline. The text sums up each target and says what is not as it should be, cell
// by cell; the other two hold every cell. What targets say of themselves may be anything: text and
// Markdown hold it in a harmless form, JSON as it is.
std::string MatrixText(const Matrix& matrix, const TextStyle& style);
std::string MatrixMarkdown(const Matrix& matrix);
std::string MatrixJson(const Matrix& matrix);

}  // namespace fetchbench::coordinator
