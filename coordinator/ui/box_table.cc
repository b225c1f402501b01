#include "coordinator/ui/box_table.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

struct Border {
  std::string_view left;
  std::string_view middle;
  std::string_view right;
};

struct Borders {
  std::string_view line;
  std::string_view bar;
  Border top;
  Border rule;
  Border bottom;
};

constexpr Borders kUtf8Borders = {"─", "│", {"┌", "┬", "┐"}, {"├", "┼", "┤"}, {"└", "┴", "┘"}};
constexpr Borders kAsciiBorders = {"-", "|", {"+", "+", "+"}, {"+", "+", "+"}, {"+", "+", "+"}};

std::string Rule(const std::vector<int>& widths, const Border& border, std::string_view line) {
  std::string out(border.left);
  for (size_t i = 0; i < widths.size(); ++i) {
    if (i > 0) out += border.middle;
    for (int n = 0; n < widths[i] + 2; ++n) out += line;
  }
  out += border.right;
  return out;
}

}  // namespace

BoxTable::BoxTable(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (const Column& column : columns_) widths_.push_back(DisplayWidth(column.header));
}

void BoxTable::AddRow(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    widths_[i] = std::max(widths_[i], DisplayWidth(cells[i]));
  }
  rows_.push_back(std::move(cells));
}

int BoxTable::Width() const {
  int width = 1;
  for (const int w : widths_) width += w + 3;
  return width;
}

std::vector<std::string> BoxTable::Lines(bool utf8) const {
  const Borders& b = utf8 ? kUtf8Borders : kAsciiBorders;
  const auto row = [&](const auto& cell) {
    std::string line(b.bar);
    for (size_t i = 0; i < columns_.size(); ++i) {
      const bool left = columns_[i].align == Align::kLeft;
      line += ' ';
      line += left ? PadRight(cell(i), widths_[i]) : PadLeft(cell(i), widths_[i]);
      line += ' ';
      line += b.bar;
    }
    return line;
  };
  std::vector<std::string> lines = {Rule(widths_, b.top, b.line)};
  const bool has_header = std::any_of(columns_.begin(), columns_.end(),
                                      [](const Column& c) { return !c.header.empty(); });
  if (has_header) {
    lines.push_back(row([&](size_t i) { return columns_[i].header; }));
    lines.push_back(Rule(widths_, b.rule, b.line));
  }
  for (const auto& cells : rows_) lines.push_back(row([&](size_t i) { return cells[i]; }));
  lines.push_back(Rule(widths_, b.bottom, b.line));
  return lines;
}

std::vector<std::string> SideBySide(const std::vector<std::string>& left,
                                    const std::vector<std::string>& right, int gap) {
  int width = 0;
  for (const std::string& line : left) width = std::max(width, DisplayWidth(line));
  std::vector<std::string> lines;
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const std::string_view l = i < left.size() ? std::string_view(left[i]) : "";
    if (i >= right.size()) {
      lines.emplace_back(l);
    } else {
      lines.push_back(PadRight(l, width + gap) + right[i]);
    }
  }
  return lines;
}

}  // namespace fetchbench::coordinator
