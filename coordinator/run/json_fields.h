#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "absl/status/status.h"
#include "coordinator/cli/setting_ranges.h"

namespace fetchbench::coordinator {

// Reads a JSON object of which is known what it should have in it. The first thing that is
// otherwise goes to a status that all readers of one text share: which member, what is there and
// what should be. Whatever is asked for and is not there is then empty, so nobody needs to look
// before the end. Refers to the object and to the status. Pure.
class JsonFields {
 public:
  JsonFields(const boost::json::object& object, absl::Status& status)
      : JsonFields(&object, "", status) {}

  std::string Text(std::string_view name) const;
  bool Flag(std::string_view name) const;
  // From 0 to the largest of this type.
  template <typename Integer>
  Integer Number(std::string_view name) const {
    return Number<Integer>(name, 0, std::numeric_limits<Integer>::max());
  }
  // Bounds of 0 at least.
  template <typename Integer>
  Integer Number(std::string_view name, Integer least, Integer most) const {
    static_assert(std::is_integral_v<Integer>);
    return static_cast<Integer>(
        Whole(name, {static_cast<uint64_t>(least), static_cast<uint64_t>(most)}, false));
  }
  // The same, or 0.
  template <typename Integer>
  Integer NumberOrNone(std::string_view name, Integer least, Integer most) const {
    static_assert(std::is_integral_v<Integer>);
    return static_cast<Integer>(
        Whole(name, {static_cast<uint64_t>(least), static_cast<uint64_t>(most)}, true));
  }
  JsonFields Object(std::string_view name) const;
  // An array of objects; of texts; an object of texts.
  std::vector<JsonFields> Objects(std::string_view name) const;
  std::vector<std::string> Texts(std::string_view name) const;
  std::map<std::string, std::string> TextByName(std::string_view name) const;

  // Notes that this member is not what it should be. `expected`: with its article.
  void Mismatch(std::string_view name, std::string_view expected) const;

 private:
  // `object` may be null: then everything is missing, and that was noted.
  JsonFields(const boost::json::object* object, std::string path, absl::Status& status)
      : object_(object), path_(std::move(path)), status_(&status) {}

  const boost::json::value* Find(std::string_view name) const;
  uint64_t Whole(std::string_view name, const Range<uint64_t>& range, bool or_none) const;

  const boost::json::object* object_;
  std::string path_;  // of the object, with a dot at its end; empty: it is the whole
  absl::Status* status_;
};

}  // namespace fetchbench::coordinator
