#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fetchbench::coordinator {

// The candidate that was most probably meant, or empty when none is near: at most a third of the
// letters (and at least one) wrong, missing, surplus or swapped. Pure.
std::string Suggest(std::string_view word, const std::vector<std::string>& candidates);

// " (did you mean X?)", or empty.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates);

// That no target has this name, which was probably meant, and the command that lists all.
std::string NoSuchTarget(std::string_view name, const std::vector<std::string>& targets);

}  // namespace fetchbench::coordinator
