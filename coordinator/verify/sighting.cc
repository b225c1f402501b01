#include "coordinator/verify/sighting.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <cctype>

namespace fetchbench::coordinator {
namespace {

namespace json = boost::json;

int64_t Integer(const json::object& object, std::string_view name, bool& ok) {
  const json::value* v = object.if_contains(name);
  boost::system::error_code error;
  const auto number = v == nullptr ? int64_t{0} : v->to_number<int64_t>(error);
  if (v == nullptr || error) ok = false;
  return error ? 0 : number;
}

const json::array* Array(const json::object& object, std::string_view name, bool& ok) {
  const json::value* v = object.if_contains(name);
  const json::array* array = v == nullptr ? nullptr : v->if_array();
  if (array == nullptr) ok = false;
  return array;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

const json::string* Text(const json::object* object, std::string_view name) {
  const json::value* v = object == nullptr ? nullptr : object->if_contains(name);
  return v == nullptr ? nullptr : v->if_string();
}

SeenRequest ReadRequest(const json::value& value, bool& ok) {
  SeenRequest request;
  const json::object* object = value.if_object();
  const json::value* headers = object == nullptr ? nullptr : object->if_contains("headers");
  const json::string* method = Text(object, "method");
  const json::string* target = Text(object, "target");
  if (headers == nullptr || !headers->is_object() || method == nullptr || target == nullptr) {
    ok = false;
    return request;
  }
  request.method.assign(method->data(), method->size());
  request.target.assign(target->data(), target->size());
  request.at_us = Integer(*object, "at_us", ok);
  for (const auto& [name, header] : headers->get_object()) {
    const json::string* text = header.if_string();
    request.headers[Lower(std::string_view(name.data(), name.size()))] =
        text == nullptr ? std::string() : std::string(text->data(), text->size());
  }
  return request;
}

}  // namespace

absl::StatusOr<Sighting> ParseSighting(const json::object& object) {
  Sighting sighting;
  bool ok = true;
  const auto count = [&object, &ok](std::string_view name) {
    return static_cast<uint64_t>(std::max<int64_t>(0, Integer(object, name, ok)));
  };
  sighting.dns_queries = count("dns_queries");
  sighting.connections = count("connections");
  sighting.closes = count("closes");
  if (const json::array* requests = Array(object, "requests", ok); requests != nullptr) {
    for (const json::value& value : *requests) {
      sighting.requests.push_back(ReadRequest(value, ok));
    }
  }
  if (const json::array* closed = Array(object, "closed_at_us", ok); closed != nullptr) {
    for (const json::value& value : *closed) {
      boost::system::error_code error;
      sighting.closed_at_us.push_back(value.to_number<int64_t>(error));
      if (error) ok = false;
    }
  }
  if (!ok) return absl::InvalidArgumentError("the origin's log of a host cannot be read");
  return sighting;
}

}  // namespace fetchbench::coordinator
