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

// What a target says in its errors may hold anything.
std::string Texts(const std::vector<Finding>& findings, bool ascii) {
  std::vector<std::string> texts;
  for (const Finding& finding : findings) texts.push_back(Harmless(finding.text, ascii));
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string Tokens(const Cell& cell) {
  std::vector<std::string> tokens;
  for (const Finding& finding : cell.findings) tokens.push_back(finding.token);
  return fmt::format("{}", fmt::join(tokens, ", "));
}

BoxTable SummaryTable(const Matrix& matrix, bool with_runtime) {
  std::vector<BoxTable::Column> columns{{"target", Align::kLeft}};
  if (with_runtime) columns.push_back({"runtime", Align::kLeft});
  for (const char* name : {"pass", "deviation", "FAIL", "stale", "not run"}) {
    columns.push_back({name, Align::kRight});
  }
  BoxTable table(std::move(columns));
  for (const MatrixColumn& column : matrix.columns) {
    std::vector<std::string> cells{column.target};
    if (with_runtime) cells.push_back(column.runtime);
    for (const Verdict v : {Verdict::kPass, Verdict::kDeviation, Verdict::kFail}) {
      cells.push_back(fmt::format("{}", column.Count(v)));
    }
    cells.push_back(fmt::format("{}", column.stale.size()));
    cells.push_back(fmt::format("{}", column.Count(Verdict::kNotRun)));
    table.AddRow(std::move(cells));
  }
  return table;
}

// What there is to say of a column below the table.
void AppendDetails(const Matrix& matrix, const MatrixColumn& column, bool ascii,
                   std::string& text) {
  if (!column.not_run.empty()) {
    text += fmt::format("\n{}: not run here: {}\n", column.target, Harmless(column.not_run, ascii));
    return;
  }
  std::string lines;
  for (size_t i = 0; i < column.cells.size(); ++i) {
    const Cell& cell = column.cells[i];
    if (!cell.once.empty()) {
      lines += fmt::format("  {:<9}  {}: {} (not when looked at again)\n", "once",
                           matrix.behaviours[i], Texts(cell.once, ascii));
    }
    if (cell.verdict != Verdict::kDeviation && cell.verdict != Verdict::kFail) continue;
    lines += fmt::format("  {:<9}  {}: {}\n", VerdictName(cell.verdict), matrix.behaviours[i],
                         Texts(cell.findings, ascii));
    if (!cell.why.empty()) lines += fmt::format("             {} ({})\n", cell.why, cell.reference);
  }
  for (const std::string& stale : column.stale) {
    lines += fmt::format("  {:<9}  {}\n", "stale", stale);
  }
  if (!lines.empty()) text += fmt::format("\n{}\n{}", column.target, lines);
}

std::string_view Sign(const Cell& cell) {
  switch (cell.verdict) {
    case Verdict::kPass:
      return "pass";
    case Verdict::kDeviation:
      return "dev";
    case Verdict::kFail:
      return "**FAIL**";
    case Verdict::kNotRun:
      return "-";
  }
  return "";
}

std::string MarkdownCell(const Cell& cell) {
  if (cell.verdict == Verdict::kPass || cell.verdict == Verdict::kNotRun) {
    return std::string(Sign(cell));
  }
  return fmt::format("{}: {}", Sign(cell), MarkdownText(Tokens(cell)));
}

// Deviations with the same reason are one line.
void AppendReasons(const Matrix& matrix, const MatrixColumn& column, std::string& text) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (size_t i = 0; i < column.cells.size(); ++i) {
    const Cell& cell = column.cells[i];
    if (cell.verdict != Verdict::kDeviation) continue;
    const std::string reason = fmt::format("{} ({})", cell.why, cell.reference);
    auto it = std::ranges::find(reasons, reason, &decltype(reasons)::value_type::first);
    if (it == reasons.end()) it = reasons.insert(it, {reason, {}});
    it->second.push_back(matrix.behaviours[i]);
  }
  if (reasons.empty() && column.not_run.empty()) return;
  text += fmt::format("\n### {}\n\n", column.target);
  if (!column.not_run.empty()) text += fmt::format("Not run here: {}\n", column.not_run);
  for (const auto& [reason, names] : reasons) {
    text += fmt::format("- {}: {}\n", fmt::join(names, ", "), reason);
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

}  // namespace

std::string MatrixText(const Matrix& matrix, const TextStyle& style) {
  BoxTable table = SummaryTable(matrix, true);
  const bool wide = table.Width() <= style.width;
  if (!wide) table = SummaryTable(matrix, false);
  std::string text;
  for (const std::string& line : table.Lines(style.utf8)) text += line + "\n";
  if (!wide) {
    for (const MatrixColumn& column : matrix.columns) {
      if (!column.runtime.empty()) text += fmt::format("{}: {}\n", column.target, column.runtime);
    }
  }
  for (const MatrixColumn& column : matrix.columns) {
    AppendDetails(matrix, column, !style.utf8, text);
  }
  return text;
}

std::string MatrixMarkdown(const Matrix& matrix) {
  std::string text =
      "| target | runtime | pass | deviation | FAIL | stale | not run |\n"
      "|---|---|---:|---:|---:|---:|---:|\n";
  for (const MatrixColumn& column : matrix.columns) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", column.target,
                        MarkdownText(column.runtime), column.Count(Verdict::kPass),
                        column.Count(Verdict::kDeviation), column.Count(Verdict::kFail),
                        column.stale.size(), column.Count(Verdict::kNotRun));
  }
  std::string header = "\n| family | behaviour |";
  std::string rule = "|---|---|";
  for (const MatrixColumn& column : matrix.columns) {
    header += fmt::format(" {} |", column.target);
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
  return text;
}

std::string MatrixJson(const Matrix& matrix) {
  json::array targets;
  for (const MatrixColumn& column : matrix.columns) {
    json::array cells;
    for (size_t i = 0; i < column.cells.size(); ++i) {
      const Cell& cell = column.cells[i];
      json::object object{{"behaviour", matrix.behaviours[i]},
                          {"family", matrix.families[i]},
                          {"verdict", View(VerdictName(cell.verdict))}};
      if (!cell.findings.empty()) object["findings"] = FindingsJson(cell.findings);
      if (!cell.once.empty()) object["seen_once"] = FindingsJson(cell.once);
      if (!cell.why.empty()) object["why"] = cell.why;
      if (!cell.reference.empty()) object["reference"] = cell.reference;
      cells.push_back(std::move(object));
    }
    json::array stale;
    for (const std::string& line : column.stale) stale.push_back(View(line));
    targets.push_back(json::object{{"target", column.target},
                                   {"runtime", column.runtime},
                                   {"not_run", column.not_run},
                                   {"stale", stale},
                                   {"cells", cells}});
  }
  return json::serialize(json::object{{"failed", matrix.Failed()}, {"targets", targets}}) + "\n";
}

}  // namespace fetchbench::coordinator
