#include "coordinator/verify/behaviour_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "absl/status/status.h"
#include "common/files.h"

namespace fetchbench::coordinator {
namespace {

namespace json = boost::json;

std::string Text(const json::object& object, std::string_view name) {
  const json::value* v = object.if_contains(name);
  return v != nullptr && v->is_string() ? std::string(v->get_string()) : std::string();
}

// A member that is one integer or a list of them; `ok` becomes false when it is anything else.
std::vector<int64_t> Integers(const json::object& object, std::string_view name, bool& ok) {
  const json::value* v = object.if_contains(name);
  if (v == nullptr) return {};
  if (v->is_int64()) return {v->get_int64()};
  std::vector<int64_t> values;
  if (v->is_array()) {
    for (const json::value& item : v->get_array()) {
      if (item.is_int64()) values.push_back(item.get_int64());
    }
  }
  ok = ok && v->is_array() && values.size() == v->get_array().size() && !values.empty();
  return values;
}

std::vector<Outcome> Outcomes(const json::object& expect) {
  const json::value* v = expect.if_contains("outcome");
  if (v == nullptr) return {};
  const json::array names = v->is_array() ? v->get_array() : json::array{*v};
  std::vector<Outcome> outcomes;
  for (const json::value& name : names) {
    if (!name.is_string()) return {};
    const auto outcome = OutcomeFromName(std::string(name.get_string()));
    if (!outcome) return {};
    outcomes.push_back(*outcome);
  }
  return outcomes;
}

bool Holds(const std::vector<Outcome>& outcomes, Outcome outcome) {
  return std::ranges::find(outcomes, outcome) != outcomes.end();
}

absl::StatusOr<Behaviour> ReadRow(const json::value& value) {
  if (!value.is_object()) return absl::InvalidArgumentError("a behaviour is not an object");
  const json::object& row = value.get_object();
  Behaviour b;
  b.name = Text(row, "name");
  b.family = Text(row, "family");
  b.url = Text(row, "url");
  b.source = Text(row, "source");
  b.about = Text(row, "about");
  if (const json::value* v = row.if_contains("timeout_s"); v != nullptr && v->is_number()) {
    b.timeout_s = v->to_number<double>();
  }
  if (const json::value* v = row.if_contains("native_only"); v != nullptr && v->is_bool()) {
    b.native_only = v->get_bool();
  }
  const auto bad = [&b](std::string_view what) {
    return absl::InvalidArgumentError(fmt::format("behaviour '{}': {}", b.name, what));
  };
  if (b.family.empty() || b.source.empty() || b.about.empty()) {
    return bad("family, source and about must be there");
  }
  const std::string host = "://" + b.name + ".conformance.test/";
  if (b.name.empty() || b.url.find(host) == std::string::npos) {
    return bad("the host of url must be <name>.conformance.test");
  }
  const json::value* expect = row.if_contains("expect");
  if (expect == nullptr || !expect->is_object()) return bad("expect is no object");
  bool ok = true;
  b.outcomes = Outcomes(expect->get_object());
  b.status = Integers(expect->get_object(), "status", ok);
  b.body_bytes = Integers(expect->get_object(), "body_bytes", ok);
  b.redirects = Integers(expect->get_object(), "redirects", ok);
  if (!ok) return bad("status, body_bytes and redirects are integers or lists of them");
  if (b.outcomes.empty()) return bad("outcome is no name of the taxonomy and no list of them");
  if (Holds(b.outcomes, Outcome::kStatus) == b.status.empty()) {
    return bad("status belongs to the outcome 'status' and only to it");
  }
  return b;
}

}  // namespace

absl::StatusOr<std::vector<Behaviour>> ReadBehaviours(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadTextFile(path);
  if (!text.ok()) return text.status();
  boost::system::error_code error;
  const json::value document = json::parse(*text, error);
  const json::object* top = document.if_object();
  const json::value* rows = top == nullptr ? nullptr : top->if_contains("behaviours");
  if (error || rows == nullptr || !rows->is_array()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: not a JSON object with a list 'behaviours'", path));
  }
  std::vector<Behaviour> behaviours;
  for (const json::value& row : rows->get_array()) {
    auto behaviour = ReadRow(row);
    if (!behaviour.ok()) return behaviour.status();
    behaviours.push_back(*std::move(behaviour));
  }
  return behaviours;
}

}  // namespace fetchbench::coordinator
