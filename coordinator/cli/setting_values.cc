#include "coordinator/cli/setting_values.h"

#include <algorithm>
#include <charconv>

namespace fetchbench::coordinator {
namespace {

// The whole text as a number; empty: it is none.
template <typename Number>
std::optional<Number> Parse(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (last != end || error != std::errc()) return std::nullopt;
  return value;
}

template <typename Number>
absl::Status SetWhole(const std::string& text, Number low, Number high, Number& to) {
  const std::optional<Number> value = Parse<Number>(text);
  if (!value || *value < low || *value > high) {
    return WrongValue(fmt::format("'{}' is not a whole number from {} to {}", text, low, high));
  }
  to = *value;
  return absl::OkStatus();
}

}  // namespace

absl::Status WrongValue(const std::string& message) { return absl::InvalidArgumentError(message); }

absl::Status SetNumber(const std::string& text, uint32_t low, uint32_t high, uint32_t& to) {
  return SetWhole(text, low, high, to);
}

absl::Status SetNumber(const std::string& text, uint64_t low, uint64_t high, uint64_t& to) {
  return SetWhole(text, low, high, to);
}

std::optional<double> ParseDecimal(std::string_view text, double low, double high) {
  const std::optional<double> value = Parse<double>(text);
  // So put that a NaN, which from_chars takes, is refused.
  if (!value || !(*value >= low && *value <= high)) return std::nullopt;
  return value;
}

absl::Status SetWord(const std::string& text, const std::vector<std::string>& words,
                     std::string& to) {
  if (std::find(words.begin(), words.end(), text) == words.end()) {
    return WrongValue(
        fmt::format("'{}' is none of {}{}", text, fmt::join(words, ", "), DidYouMean(text, words)));
  }
  to = text;
  return absl::OkStatus();
}

absl::Status SetText(const std::string& text, size_t max_bytes, std::string& to) {
  const bool printable = std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
  });
  if (!printable) return WrongValue("it holds a control character");
  if (text.size() > max_bytes) {
    return WrongValue(fmt::format("it is longer than {} bytes", max_bytes));
  }
  to = text;
  return absl::OkStatus();
}

absl::Status SetPath(const std::string& text, std::string& to) {
  if (text.empty()) return WrongValue("the name is empty");
  to = text;
  return absl::OkStatus();
}

}  // namespace fetchbench::coordinator
