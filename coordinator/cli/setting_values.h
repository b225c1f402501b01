#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/cli/setting_ranges.h"
#include "coordinator/cli/suggest.h"

// From the text of an option, or of its variable, to a value. All are pure, store into `to` only
// what is right, and else return InvalidArgument that says what is wrong with the text, not where
// it came from: whoever parses the command line adds that. Bounds are part of what is allowed.
namespace fetchbench::coordinator {

absl::Status WrongValue(const std::string& message);

// Digits alone.
absl::Status SetNumber(const std::string& text, uint32_t low, uint32_t high, uint32_t& to);
absl::Status SetNumber(const std::string& text, uint64_t low, uint64_t high, uint64_t& to);

// A number with or without decimals; empty: it is none, or out of bounds.
std::optional<double> ParseDecimal(std::string_view text, double low, double high);

template <typename Duration>
absl::Status SetSeconds(const std::string& text, const Range<double>& range, Duration& to) {
  const std::optional<double> seconds = ParseDecimal(text, range.least, range.most);
  if (!seconds) {
    return WrongValue(
        fmt::format("'{}' is not a number of seconds from {} to {} (decimals are fine)", text,
                    range.least, range.most));
  }
  to = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*seconds));
  return absl::OkStatus();
}

// One of a few words.
absl::Status SetWord(const std::string& text, const std::vector<std::string>& words,
                     std::string& to);

// What stands for one of a few words.
template <typename Value>
absl::Status SetChoice(const std::string& text,
                       const std::vector<std::pair<std::string, Value>>& choices, Value& to) {
  std::vector<std::string> words;
  for (const auto& [word, value] : choices) {
    if (word == text) {
      to = value;
      return absl::OkStatus();
    }
    words.push_back(word);
  }
  std::string none;
  return SetWord(text, words, none);
}

// One line without control characters, which terminals and headers would take for more than text.
absl::Status SetText(const std::string& text, size_t max_bytes, std::string& to);

// Of a file or folder; it need not exist. Not empty.
absl::Status SetPath(const std::string& text, std::string& to);

}  // namespace fetchbench::coordinator
