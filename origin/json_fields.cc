#include "origin/json_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace fetchbench::origin {

namespace json = boost::json;

std::string JsonFields::Path(std::string_view name) const {
  // "FILE" and "FILE: a" both become places of a field.
  const bool nested = place_.find(": ") != std::string::npos;
  return fmt::format("{}{}{}", place_, nested ? "." : ": ", name);
}

void JsonFields::Fail(std::string_view name, std::string_view what) {
  if (status_.ok()) {
    status_ = absl::InvalidArgumentError(fmt::format("{}: {}", Path(name), what));
  }
}

void JsonFields::Merge(const absl::Status& status) { status_.Update(status); }

const json::value* JsonFields::Take(std::string_view name) {
  known_.emplace_back(name);
  return object_ == nullptr ? nullptr
                            : object_->if_contains(json::string_view(name.data(), name.size()));
}

double JsonFields::Number(std::string_view name, double min, double max, double fallback) {
  const json::value* value = Take(name);
  if (value == nullptr) return fallback;
  boost::system::error_code error;
  const double number = value->to_number<double>(error);
  if (error || !std::isfinite(number)) {
    Fail(name, "must be a number");
    return fallback;
  }
  if (number < min || number > max) {
    Fail(name, fmt::format("must be from {} to {}, is {}", min, max, number));
    return fallback;
  }
  return number;
}

std::string JsonFields::Text(std::string_view name) {
  const json::value* value = Take(name);
  if (value == nullptr) return {};
  if (!value->is_string()) {
    Fail(name, "must be a string");
    return {};
  }
  return std::string(value->get_string().c_str(), value->get_string().size());
}

std::vector<std::string> JsonFields::Texts(std::string_view name) {
  const json::value* value = Take(name);
  std::vector<std::string> texts;
  if (value == nullptr) return texts;
  if (!value->is_array()) {
    Fail(name, "must be an array of strings");
    return texts;
  }
  for (const json::value& item : value->get_array()) {
    if (!item.is_string()) {
      Fail(name, "must be an array of strings");
      break;
    }
    texts.emplace_back(item.get_string().c_str(), item.get_string().size());
  }
  return texts;
}

JsonFields JsonFields::Object(std::string_view name) {
  const json::value* value = Take(name);
  if (value != nullptr && !value->is_object()) {
    Fail(name, "must be an object");
    value = nullptr;
  }
  return {value == nullptr ? nullptr : &value->get_object(), Path(name)};
}

std::vector<std::string> JsonFields::Names() const {
  std::vector<std::string> names;
  if (object_ == nullptr) return names;
  for (const auto& member : *object_) names.emplace_back(member.key_c_str());
  return names;
}

absl::Status JsonFields::Done() {
  for (const std::string& name : Names()) {
    if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
      Fail(name, fmt::format("unknown field; known here: {}", fmt::join(known_, ", ")));
    }
  }
  return status_;
}

}  // namespace fetchbench::origin
