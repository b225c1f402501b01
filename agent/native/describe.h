#pragma once

#include <string>

namespace fetchbench::native {

// One JSON object: what this program is made of, with the field names of TargetFacts.
std::string DescribeTarget();

}  // namespace fetchbench::native
