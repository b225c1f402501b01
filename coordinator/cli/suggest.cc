#include "coordinator/cli/suggest.h"

#include <fmt/format.h>

#include <algorithm>

#include "coordinator/cli/program_name.h"

namespace fetchbench::coordinator {
namespace {

constexpr size_t kLongestWord = 64;

// Damerau-Levenshtein distance with adjacent swaps ("optimal string alignment").
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t wrong = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + wrong});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string Suggest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > kLongestWord) return {};
  std::string best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = Distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string best = Suggest(word, candidates);
  return best.empty() ? std::string() : fmt::format(" (did you mean {}?)", best);
}

std::string NoSuchTarget(std::string_view name, const std::vector<std::string>& targets) {
  return fmt::format("there is no target '{}'{}; `{} targets` lists them", name,
                     DidYouMean(name, targets), ProgramName());
}

}  // namespace fetchbench::coordinator
