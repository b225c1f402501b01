#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "coordinator/ui/box_table.h"
#include "coordinator/ui/text.h"
#include "coordinator/verify/matrix.h"

namespace fetchbench::coordinator {
namespace {

namespace json = boost::json;

constexpr std::string_view kPartial = "PARTIAL: stopped by the user; what is missing was not run";

std::string Texts(const std::vector<Finding>& findings) {
  std::vector<std::string> texts;
  for (const Finding& finding : findings) texts.push_back(finding.text);
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string Tokens(const Cell& cell) {
  std::vector<std::string> tokens;
  for (const Finding& finding : cell.findings) tokens.push_back(finding.token);
  return fmt::format("{}", fmt::join(tokens, ", "));
}

BoxTable SummaryTable(const Matrix& matrix, bool with_runtime, bool ascii) {
  std::vector<BoxTable::Column> columns{{"target", Align::kLeft}};
  if (with_runtime) columns.push_back({"runtime", Align::kLeft});
  for (const char* name : {"pass", "deviation", "FAIL", "stale", "not run"}) {
    columns.push_back({name, Align::kRight});
  }
  BoxTable table(std::move(columns));
  for (const MatrixColumn& column : matrix.columns) {
    std::vector<std::string> cells{Harmless(column.target, ascii)};
    if (with_runtime) cells.push_back(Harmless(column.runtime, ascii));
    for (const CellVerdict v : {CellVerdict::kPass, CellVerdict::kDeviation, CellVerdict::kFail}) {
      cells.push_back(fmt::format("{}", column.Count(v)));
    }
    cells.push_back(fmt::format("{}", column.stale.size()));
    cells.push_back(fmt::format("{}", column.Count(CellVerdict::kNotRun)));
    table.AddRow(std::move(cells));
  }
  return table;
}

std::string CellLines(const std::string& behaviour, const Cell& cell) {
  std::string lines;
  const auto add = [&lines, &behaviour](std::string_view what, const std::string& text) {
    lines += fmt::format("  {:<9}  {}: {}\n", what, behaviour, text);
  };
  if (!cell.once.empty()) add("once", Texts(cell.once) + " (not when looked at again)");
  if (!cell.not_run.empty()) add(CellVerdictName(CellVerdict::kNotRun), cell.not_run);
  if (cell.verdict != CellVerdict::kDeviation && cell.verdict != CellVerdict::kFail) return lines;
  add(CellVerdictName(cell.verdict), Texts(cell.findings));
  for (const Reason& reason : cell.reasons) {
    lines += fmt::format("             {} ({})\n", reason.why, reason.reference);
  }
  return lines;
}

// What there is to say of a column below the table, raw.
std::string Details(const Matrix& matrix, const MatrixColumn& column) {
  if (!column.not_run.empty()) {
    return fmt::format("\n{}: not run here: {}\n", column.target, column.not_run);
  }
  std::string lines;
  for (size_t i = 0; i < column.cells.size(); ++i) {
    lines += CellLines(matrix.behaviours[i], column.cells[i]);
  }
  for (const std::string& fault : column.faults) {
    lines += fmt::format("  {:<9}  {}\n", CellVerdictName(CellVerdict::kFail), fault);
  }
  for (const std::string& stale : column.stale) {
    lines += fmt::format("  {:<9}  {}\n", "stale", stale);
  }
  return lines.empty() ? lines : fmt::format("\n{}\n{}", column.target, lines);
}

// Line by line: their ends are ours, and those of a build's output.
std::string HarmlessLines(std::string_view text, bool ascii) {
  std::string harmless;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    harmless += Harmless(text.substr(0, end), ascii) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return harmless;
}

std::string_view Sign(const Cell& cell) {
  switch (cell.verdict) {
    case CellVerdict::kPass:
      return "pass";
    case CellVerdict::kDeviation:
      return "dev";
    case CellVerdict::kFail:
      return "**FAIL**";
    case CellVerdict::kNotRun:
      return "-";
  }
  return "";
}

std::string MarkdownCell(const Cell& cell) {
  if (cell.verdict == CellVerdict::kPass || cell.verdict == CellVerdict::kNotRun) {
    return std::string(Sign(cell));
  }
  return fmt::format("{}: {}", Sign(cell), MarkdownText(Tokens(cell)));
}

// Deviations with the same reasons are one line.
void AppendReasons(const Matrix& matrix, const MatrixColumn& column, std::string& text) {
  std::vector<std::pair<std::string, std::vector<std::string>>> lines;
  for (size_t i = 0; i < column.cells.size(); ++i) {
    const Cell& cell = column.cells[i];
    std::string line = cell.not_run.empty() ? std::string() : "not run: " + cell.not_run;
    for (const Reason& reason : cell.reasons) {
      line += fmt::format("{}{} ({})", line.empty() ? "" : "; ", reason.why, reason.reference);
    }
    if (line.empty()) continue;
    auto it = std::ranges::find(lines, line, &decltype(lines)::value_type::first);
    if (it == lines.end()) it = lines.insert(it, {line, {}});
    it->second.push_back(matrix.behaviours[i]);
  }
  if (lines.empty() && column.not_run.empty() && column.faults.empty() && column.stale.empty()) {
    return;
  }
  text += fmt::format("\n### {}\n\n", MarkdownText(column.target));
  if (!column.not_run.empty()) {
    text += fmt::format("Not run here: {}\n", MarkdownText(column.not_run));
  }
  for (const auto& [line, names] : lines) {
    text += fmt::format("- {}: {}\n", fmt::join(names, ", "), MarkdownText(line));
  }
  for (const std::string& fault : column.faults) {
    text += fmt::format("- **FAIL**: {}\n", MarkdownText(fault));
  }
  for (const std::string& stale : column.stale) {
    text += fmt::format("- stale: {}\n", MarkdownText(stale));
  }
}

json::array FindingsJson(const std::vector<Finding>& findings) {
  json::array list;
  for (const Finding& finding : findings) {
    list.push_back(json::object{{"observed", finding.token}, {"text", finding.text}});
  }
  return list;
}

json::string_view View(std::string_view text) { return {text.data(), text.size()}; }

json::object CellJson(const std::string& behaviour, const std::string& family, const Cell& cell) {
  json::object object{{"behaviour", behaviour},
                      {"family", family},
                      {"verdict", View(CellVerdictName(cell.verdict))}};
  if (!cell.findings.empty()) object["findings"] = FindingsJson(cell.findings);
  if (!cell.once.empty()) object["seen_once"] = FindingsJson(cell.once);
  if (!cell.not_run.empty()) object["not_run"] = cell.not_run;
  if (cell.reasons.empty()) return object;
  json::array reasons;
  for (const Reason& reason : cell.reasons) {
    reasons.push_back(json::object{{"why", reason.why}, {"reference", reason.reference}});
  }
  object["reasons"] = std::move(reasons);
  return object;
}

}  // namespace

std::string MatrixText(const Matrix& matrix, const TextStyle& style) {
  const bool ascii = !style.utf8;
  BoxTable table = SummaryTable(matrix, true, ascii);
  const bool wide = table.Width() <= style.width;
  if (!wide) table = SummaryTable(matrix, false, ascii);
  std::string text;
  for (const std::string& line : table.Lines(style.utf8)) text += line + "\n";
  std::string below;
  if (!wide) {
    for (const MatrixColumn& column : matrix.columns) {
      if (!column.runtime.empty()) below += fmt::format("{}: {}\n", column.target, column.runtime);
    }
  }
  for (const MatrixColumn& column : matrix.columns) below += Details(matrix, column);
  if (matrix.partial) below += fmt::format("\n{}\n", kPartial);
  return text + HarmlessLines(below, ascii);
}

std::string MatrixMarkdown(const Matrix& matrix) {
  std::string text =
      "| target | runtime | pass | deviation | FAIL | stale | not run |\n"
      "|---|---|---:|---:|---:|---:|---:|\n";
  for (const MatrixColumn& column : matrix.columns) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", MarkdownText(column.target),
                        MarkdownText(column.runtime), column.Count(CellVerdict::kPass),
                        column.Count(CellVerdict::kDeviation), column.Count(CellVerdict::kFail),
                        column.stale.size(), column.Count(CellVerdict::kNotRun));
  }
  std::string header = "\n| family | behaviour |";
  std::string rule = "|---|---|";
  for (const MatrixColumn& column : matrix.columns) {
    header += fmt::format(" {} |", MarkdownText(column.target));
    rule += "---|";
  }
  text += header + "\n" + rule + "\n";
  for (size_t i = 0; i < matrix.behaviours.size(); ++i) {
    text += fmt::format("| {} | {} |", matrix.families[i], matrix.behaviours[i]);
    for (const MatrixColumn& column : matrix.columns) {
      text += fmt::format(" {} |", MarkdownCell(column.cells[i]));
    }
    text += "\n";
  }
  for (const MatrixColumn& column : matrix.columns) AppendReasons(matrix, column, text);
  if (matrix.partial) text += fmt::format("\n{}\n", kPartial);
  return text;
}

std::string MatrixJson(const Matrix& matrix) {
  json::array targets;
  for (const MatrixColumn& column : matrix.columns) {
    json::array cells;
    for (size_t i = 0; i < column.cells.size(); ++i) {
      cells.push_back(CellJson(matrix.behaviours[i], matrix.families[i], column.cells[i]));
    }
    json::array faults;
    for (const std::string& line : column.faults) faults.push_back(View(line));
    json::array stale;
    for (const std::string& line : column.stale) stale.push_back(View(line));
    targets.push_back(json::object{{"target", column.target},
                                   {"runtime", column.runtime},
                                   {"not_run", column.not_run},
                                   {"faults", faults},
                                   {"stale", stale},
                                   {"cells", cells}});
  }
  return json::serialize(json::object{
             {"failed", matrix.Failed()}, {"partial", matrix.partial}, {"targets", targets}}) +
         "\n";
}

}  // namespace fetchbench::coordinator
