#pragma once

#include <string>
#include <string_view>
#include <vector>

// Parts of the paths of the Engine's API. All pure.
namespace fetchbench::docker {

// Percent-encoded, for one part of a path or a value of a query.
std::string Escape(std::string_view text);

// An image's reference in a path: its slashes, colon and at-sign stand as they are.
std::string ReferencePath(std::string_view reference);

// The value of `filters`: what has `name` among `values` ("label", {"fetchbench.agent"}).
std::string Filter(const char* name, const std::vector<std::string>& values);

}  // namespace fetchbench::docker
