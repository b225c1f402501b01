#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fetchbench::coordinator {

// The part of a terminal that LinePrinter relies on: a screen of ASCII cells that understands \r,
// \n, cursor up and down, erasing, wrapping on and off, and the cursor's visibility. Anything else
// is counted in `unknown`. Lines that scroll off go to `history`.
class FakeScreen {
 public:
  FakeScreen(int width, int height) : width_(width), rows_(static_cast<size_t>(height)) {}

  void Feed(std::string_view bytes) {
    while (!bytes.empty()) {
      const size_t used = bytes[0] == '\x1b' ? Escape(bytes) : Plain(bytes[0]);
      bytes.remove_prefix(used);
    }
  }

  // Rows without trailing blanks, and without empty rows at the end.
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    for (const std::string& row : rows_)
      lines.push_back(row.substr(0, row.find_last_not_of(' ') + 1));
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    return lines;
  }
  const std::vector<std::string>& history() const { return history_; }
  bool cursor_visible() const { return cursor_visible_; }
  bool wraps() const { return wraps_; }
  size_t row() const { return row_; }
  int unknown() const { return unknown_; }

 private:
  size_t Plain(char c) {
    if (c == '\r') {
      column_ = 0;
    } else if (c == '\n') {  // as a terminal does it with output processing on
      column_ = 0;
      NextRow();
    } else {
      if (column_ >= width_) {
        if (wraps_) {
          column_ = 0;
          NextRow();
        } else {
          column_ = width_ - 1;
        }
      }
      std::string& row = rows_[row_];
      row.resize(std::max(row.size(), static_cast<size_t>(column_) + 1), ' ');
      row[static_cast<size_t>(column_++)] = c;
    }
    return 1;
  }

  void NextRow() {
    if (++row_ < rows_.size()) return;
    history_.push_back(rows_.front());
    rows_.erase(rows_.begin());
    rows_.emplace_back();
    row_ = rows_.size() - 1;
  }

  size_t Escape(std::string_view bytes) {
    const size_t end = bytes.find_first_not_of("\x1b[?0123456789;");
    if (end == std::string_view::npos) {
      ++unknown_;
      return bytes.size();
    }
    const std::string arguments(bytes.substr(2, end - 2));
    Act(bytes[end], arguments);
    return end + 1;
  }

  void Act(char command, const std::string& arguments) {
    const bool on = command == 'h';
    // Behind a full row the cursor waits on its last column, and erases that.
    if (command == 'K' || command == 'J') column_ = std::min(column_, width_ - 1);
    if (command == 'K') {
      rows_[row_].resize(std::min(rows_[row_].size(), static_cast<size_t>(column_)));
    } else if (command == 'J') {
      rows_[row_].resize(std::min(rows_[row_].size(), static_cast<size_t>(column_)));
      for (size_t i = row_ + 1; i < rows_.size(); ++i) rows_[i].clear();
    } else if (command == 'A') {
      const auto up = static_cast<size_t>(std::stoi(arguments));
      row_ = up > row_ ? 0 : row_ - up;
    } else if (command == 'B') {
      row_ = std::min(rows_.size() - 1, row_ + static_cast<size_t>(std::stoi(arguments)));
    } else if (arguments == "?25" && (on || command == 'l')) {
      cursor_visible_ = on;
    } else if (arguments == "?7" && (on || command == 'l')) {
      wraps_ = on;
    } else if (command != 'm') {
      ++unknown_;
    }
  }

  int width_;
  std::vector<std::string> rows_;
  std::vector<std::string> history_;
  size_t row_ = 0;
  int column_ = 0;
  bool cursor_visible_ = true;
  bool wraps_ = true;
  int unknown_ = 0;
};

}  // namespace fetchbench::coordinator
