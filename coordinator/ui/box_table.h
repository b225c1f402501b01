#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fetchbench::coordinator {

enum class Align { kLeft, kRight };

// A table with box-drawing borders. Cells are one line each and may hold colour sequences. Pure.
class BoxTable {
 public:
  struct Column {
    std::string header;
    Align align = Align::kRight;
  };

  explicit BoxTable(std::vector<Column> columns);

  // A short row is filled up with empty cells; further cells are dropped.
  void AddRow(std::vector<std::string> cells);

  // Columns that a printed line takes.
  int Width() const;

  // With a header line unless every header is empty; ASCII borders without `utf8`.
  std::vector<std::string> Lines(bool utf8) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<int> widths_;
};

// `right` beside `left`, `gap` columns between; the shorter one is filled up with blanks.
std::vector<std::string> SideBySide(const std::vector<std::string>& left,
                                    const std::vector<std::string>& right, int gap);

}  // namespace fetchbench::coordinator
