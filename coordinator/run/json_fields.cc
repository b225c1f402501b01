#include "coordinator/run/json_fields.h"

#include <fmt/format.h>

namespace fetchbench::coordinator {
namespace {

namespace json = boost::json;

// Of what is there instead, in a message.
constexpr size_t kMostShown = 60;

std::string Shown(const json::value& value) {
  std::string text = json::serialize(value);
  if (text.size() > kMostShown) text = text.substr(0, kMostShown) + "...";
  return text;
}

}  // namespace

const json::value* JsonFields::Find(std::string_view name) const {
  return object_ == nullptr ? nullptr : object_->if_contains({name.data(), name.size()});
}

void JsonFields::Mismatch(std::string_view name, std::string_view expected) const {
  if (!status_->ok()) return;
  const json::value* value = Find(name);
  *status_ =
      absl::DataLossError(value == nullptr ? fmt::format("'{}{}' is missing, where {} was expected",
                                                         path_, name, expected)
                                           : fmt::format("'{}{}' is {}, where {} was expected",
                                                         path_, name, Shown(*value), expected));
}

std::string JsonFields::Text(std::string_view name) const {
  const json::value* value = Find(name);
  if (value != nullptr && value->is_string()) return std::string(value->get_string());
  Mismatch(name, "a text");
  return {};
}

bool JsonFields::Flag(std::string_view name) const {
  const json::value* value = Find(name);
  if (value != nullptr && value->is_bool()) return value->get_bool();
  Mismatch(name, "true or false");
  return false;
}

uint64_t JsonFields::Whole(std::string_view name, const Range<uint64_t>& range,
                           bool or_none) const {
  const json::value* value = Find(name);
  if (value != nullptr) {
    json::error_code error;
    const auto number = value->to_number<uint64_t>(error);
    const bool within = number >= range.least && number <= range.most;
    if (!error && (within || (or_none && number == 0))) return number;
  }
  const std::string_view none = or_none && range.least > 0 ? "0 or " : "";
  Mismatch(name, fmt::format("{}a whole number from {} to {}", none, range.least, range.most));
  return 0;
}

JsonFields JsonFields::Object(std::string_view name) const {
  const json::value* value = Find(name);
  const bool sound = value != nullptr && value->is_object();
  if (!sound) Mismatch(name, "an object");
  return {sound ? &value->get_object() : nullptr, fmt::format("{}{}.", path_, name), *status_};
}

std::vector<JsonFields> JsonFields::Objects(std::string_view name) const {
  std::vector<JsonFields> objects;
  const json::value* value = Find(name);
  if (value == nullptr || !value->is_array()) {
    Mismatch(name, "an array of objects");
    return objects;
  }
  for (const json::value& entry : value->get_array()) {
    if (!entry.is_object()) {
      Mismatch(name, "an array of objects");
      return {};
    }
    objects.push_back(
        {&entry.get_object(), fmt::format("{}{}[{}].", path_, name, objects.size()), *status_});
  }
  return objects;
}

std::vector<std::string> JsonFields::Texts(std::string_view name) const {
  std::vector<std::string> texts;
  const json::value* value = Find(name);
  const bool sound = value != nullptr && value->is_array();
  if (!sound) Mismatch(name, "an array of texts");
  for (size_t i = 0; sound && i < value->get_array().size(); ++i) {
    const json::value& entry = value->get_array()[i];
    if (!entry.is_string()) {
      Mismatch(name, "an array of texts");
      return {};
    }
    texts.emplace_back(entry.get_string());
  }
  return texts;
}

std::map<std::string, std::string> JsonFields::TextByName(std::string_view name) const {
  std::map<std::string, std::string> texts;
  const JsonFields object = Object(name);
  if (object.object_ == nullptr) return texts;
  for (const auto& member : *object.object_) {
    const std::string key(member.key());
    texts[key] = object.Text(key);
  }
  return texts;
}

}  // namespace fetchbench::coordinator
