#include "coordinator/targets/target_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "common/outcome.h"
#include "coordinator/cli/suggest.h"

namespace fetchbench::coordinator {
namespace {

namespace json = boost::json;

constexpr int64_t kMaxConcurrency = 100'000;
constexpr size_t kMaxTextBytes = 4'096;
constexpr size_t kMaxEntries = 1'000;  // of any list

std::string_view View(json::string_view text) { return {text.data(), text.size()}; }

bool IsAliasCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' ||
         c == '+';
}

// A status code, an outcome, or one of the contract's words.
bool CanBeObserved(std::string_view word) {
  if (word.size() == 3 &&
      std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return true;
  }
  for (const std::string_view known :
       {"late", "open_after_timeout", "body_bytes", "redirects", "retried", "user_agent",
        "accept_encoding", "in_flight", "memory_growth", "others_starved"}) {
    if (word == known) return true;
  }
  return OutcomeFromName(word).has_value();
}

// Reads members of one object and notes what is wrong with them.
class Reader {
 public:
  Reader(const json::object& object, std::string prefix, std::vector<std::string>& problems)
      : object_(object), prefix_(std::move(prefix)), problems_(problems) {}

  void Wrong(std::string_view field, std::string_view what) {
    problems_.push_back(fmt::format("{}{}: {}", prefix_, field, what));
  }

  std::string Text(const char* field) {
    const json::value* value = Required(field);
    if (value == nullptr) return {};
    if (!value->is_string() || value->get_string().empty()) {
      Wrong(field, "must be a text, and not an empty one");
      return {};
    }
    if (value->get_string().size() > kMaxTextBytes) {
      Wrong(field, fmt::format("is longer than {} bytes", kMaxTextBytes));
      return {};
    }
    return std::string(View(value->get_string()));
  }

  bool Has(const char* field) const { return object_.contains(field); }

  // False when the member is not there.
  bool Flag(const char* field) {
    const json::value* value = object_.if_contains(field);
    if (value == nullptr) return false;
    if (!value->is_bool()) Wrong(field, "must be true or false");
    return value->is_bool() && value->get_bool();
  }

  // Empty when the member is not there.
  std::vector<std::string> Texts(const char* field) {
    const json::array* array = Array(field);
    std::vector<std::string> texts;
    for (size_t i = 0; array != nullptr && i < array->size(); ++i) {
      const json::value& value = (*array)[i];
      if (value.is_string() && !value.get_string().empty()) {
        texts.emplace_back(View(value.get_string()));
      } else {
        Wrong(fmt::format("{}[{}]", field, i), "must be a text, and not an empty one");
      }
    }
    return texts;
  }

  const json::array* Array(const char* field) {
    const json::value* value = object_.if_contains(field);
    if (value == nullptr) return nullptr;
    if (!value->is_array()) {
      Wrong(field, "must be a list");
      return nullptr;
    }
    if (value->get_array().size() > kMaxEntries) {
      Wrong(field, fmt::format("has more than {} entries", kMaxEntries));
      return nullptr;
    }
    return &value->get_array();
  }

  uint32_t Number(const char* field, int64_t low, int64_t high, uint32_t otherwise) {
    const json::value* value = object_.if_contains(field);
    if (value == nullptr) return otherwise;
    error_code error;
    const int64_t number = value->is_number() ? value->to_number<int64_t>(error) : low - 1;
    if (error || number < low || number > high) {
      Wrong(field, fmt::format("must be a whole number from {} to {}", low, high));
      return 0;
    }
    return static_cast<uint32_t>(number);
  }

  // A member of another name is most often a known one misspelt.
  void AllowOnly(const std::vector<std::string>& names) {
    for (const auto& member : object_) {
      const std::string name(View(member.key()));
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        Wrong(name, "there is no such member" + DidYouMean(name, names));
      }
    }
  }

 private:
  using error_code = boost::system::error_code;

  const json::value* Required(const char* field) {
    const json::value* value = object_.if_contains(field);
    if (value == nullptr) Wrong(field, "is missing");
    return value;
  }

  const json::object& object_;
  std::string prefix_;
  std::vector<std::string>& problems_;
};

Deviation ReadDeviation(Reader& reader) {
  Deviation deviation;
  deviation.behaviours = reader.Texts("behaviours");
  deviation.observed = reader.Texts("observed");
  deviation.why = reader.Text("why");
  deviation.reference = reader.Text("reference");
  deviation.sometimes = reader.Flag("sometimes");
  if (reader.Has("libc")) deviation.libc = reader.Text("libc");
  reader.AllowOnly({"behaviours", "observed", "why", "reference", "sometimes", "libc"});
  if (deviation.behaviours.empty()) reader.Wrong("behaviours", "names none");
  if (deviation.observed.empty()) reader.Wrong("observed", "names nothing");
  for (const std::string& behaviour : deviation.behaviours) {
    if (const size_t star = behaviour.find('*');
        star != std::string::npos && star + 1 != behaviour.size()) {
      reader.Wrong("behaviours", fmt::format("'{}': a * stands at the end only", behaviour));
    }
  }
  for (const std::string& word : deviation.observed) {
    if (!CanBeObserved(word)) {
      reader.Wrong("observed", fmt::format("'{}' is no status code, no outcome and none of the "
                                           "contract's words",
                                           word));
    }
  }
  return deviation;
}

void ReadDeviations(Reader& reader, ParsedTarget& result) {
  const json::array* array = reader.Array("deviations");
  for (size_t i = 0; array != nullptr && i < array->size(); ++i) {
    const std::string place = fmt::format("deviations[{}]", i);
    const json::object* object = (*array)[i].if_object();
    if (object == nullptr) {
      reader.Wrong(place, "must be an object");
      continue;
    }
    Reader entry(*object, place + ".", result.problems);
    result.target.deviations.push_back(ReadDeviation(entry));
  }
}

// Only programs that stand beside the coordinator.
void CheckStage(Reader& reader, const TargetInfo& target) {
  for (const std::string& program : target.stage) {
    if (!program.starts_with("fetchbench-") || program.find('/') != std::string::npos) {
      reader.Wrong("stage", fmt::format("'{}' is no program of fetchbench", program));
    }
  }
}

void CheckAliases(Reader& reader, const TargetInfo& target) {
  for (const std::string& alias : target.aliases) {
    // Without a slash an alias can never be the name of a target.
    if (!std::all_of(alias.begin(), alias.end(), IsAliasCharacter)) {
      reader.Wrong("aliases", fmt::format("'{}' holds more than lower-case letters, digits, '-', "
                                          "'_', '.' and '+'",
                                          alias));
    }
    if (std::count(target.aliases.begin(), target.aliases.end(), alias) > 1) {
      reader.Wrong("aliases", fmt::format("'{}' is there twice", alias));
      return;
    }
  }
}

}  // namespace

ParsedTarget ParseTarget(std::string_view text, std::string_view name) {
  ParsedTarget result;
  boost::system::error_code error;
  json::stream_parser parser;
  const size_t used = parser.write_some(text.data(), text.size(), error);
  if (!error && !parser.done()) parser.finish(error);
  if (error || text.find_first_not_of(" \t\r\n", used) != std::string_view::npos) {
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(used), '\n');
    result.problems.push_back(fmt::format("line {}: no JSON: {}", line,
                                          error ? error.message() : "something follows its end"));
    return result;
  }
  const json::value value = parser.release();
  if (!value.is_object()) {
    result.problems.emplace_back("line 1: must hold an object");
    return result;
  }
  Reader reader(value.get_object(), "", result.problems);
  TargetInfo& target = result.target;
  target.name = reader.Text("name");
  if (!target.name.empty() && target.name != name) {
    reader.Wrong("name", fmt::format("is '{}', but the folder is '{}'", target.name, name));
  }
  if (const std::string kind = reader.Text("kind"); !kind.empty() && kind != "fetch") {
    reader.Wrong("kind", fmt::format("is '{}'; there is only 'fetch'", kind));
  }
  target.language = reader.Text("language");
  target.method = reader.Text("method");
  target.aliases = reader.Texts("aliases");
  target.concurrency = reader.Number("concurrency", 1, kMaxConcurrency, target.concurrency);
  target.stage = reader.Texts("stage");
  CheckAliases(reader, target);
  CheckStage(reader, target);
  ReadDeviations(reader, result);
  reader.AllowOnly(
      {"name", "kind", "language", "method", "aliases", "concurrency", "deviations", "stage"});
  return result;
}

}  // namespace fetchbench::coordinator
