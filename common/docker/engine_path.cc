#include "common/docker/engine_path.h"

#include <fmt/format.h>

#include <utility>

#include "common/docker/engine_json.h"

namespace fetchbench::docker {

namespace json = boost::json;

std::string Escape(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", byte);
    }
  }
  return result;
}

std::string ReferencePath(std::string_view reference) {
  std::string result = Escape(reference);
  for (const auto& [code, plain] : {std::pair("%2F", "/"), {"%3A", ":"}, {"%40", "@"}}) {
    for (size_t at = result.find(code); at != std::string::npos; at = result.find(code, at)) {
      result.replace(at, 3, plain);
    }
  }
  return result;
}

std::string Filter(const char* name, const std::vector<std::string>& values) {
  json::array array;
  for (const std::string& value : values) array.emplace_back(value);
  return Escape(Serialize(json::object{{name, std::move(array)}}));
}

}  // namespace fetchbench::docker
