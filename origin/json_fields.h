#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace fetchbench::origin {

// Takes named fields out of a JSON object one by one and remembers the first thing that is wrong,
// with the field's full path, so that the reader of a configuration file is told where to look.
// Short-lived: refers to the object that it reads.
class JsonFields {
 public:
  // `place` is what errors start with: "FILE: dns". A null object has no fields.
  JsonFields(const boost::json::object* object, std::string place)
      : object_(object), place_(std::move(place)) {}

  // A number in [min, max]; `fallback` when the field is absent.
  double Number(std::string_view name, double min, double max, double fallback);

  // A share: a number in [0, 1], 0 when absent.
  double Share(std::string_view name) { return Number(name, 0, 1, 0); }

  std::string Text(std::string_view name);
  std::vector<std::string> Texts(std::string_view name);

  // The fields of an object within; one without fields when absent.
  JsonFields Object(std::string_view name);

  // Names of all fields, in file order.
  std::vector<std::string> Names() const;

  // Keeps `status` if it is the first error.
  void Fail(std::string_view name, std::string_view what);
  void Merge(const absl::Status& status);

  // The first error, or that a field exists which nobody asked for.
  absl::Status Done();

 private:
  const boost::json::value* Take(std::string_view name);
  std::string Path(std::string_view name) const;

  const boost::json::object* object_;
  std::string place_;
  std::vector<std::string> known_;
  absl::Status status_;
};

}  // namespace fetchbench::origin
