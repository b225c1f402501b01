#include "common/docker/ignore_rules.h"

#include <algorithm>

namespace fetchbench::docker {
namespace {

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// A leading "/" or "./" and trailing slashes mean nothing.
std::string_view Clean(std::string_view pattern) {
  while (pattern.starts_with("./")) pattern.remove_prefix(2);
  while (pattern.starts_with('/')) pattern.remove_prefix(1);
  while (pattern.ends_with('/')) pattern.remove_suffix(1);
  return pattern;
}

}  // namespace

// Iterative with one place to come back to for each kind of star; "**" crosses slashes and "*" not.
bool MatchesPattern(std::string_view pattern, std::string_view path) {
  size_t p = 0;
  size_t at = 0;
  constexpr size_t kNone = std::string_view::npos;
  size_t star = kNone;
  size_t star_at = 0;
  size_t globe = kNone;
  size_t globe_at = 0;
  while (true) {
    if (pattern.substr(p).starts_with("**")) {
      p += 2;
      if (pattern.substr(p).starts_with('/')) ++p;  // "**/" is any number of folders, none too
      globe = p;
      globe_at = at;
      star = kNone;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      star_at = at;
    } else if (p == pattern.size() && at == path.size()) {
      return true;
    } else if (p < pattern.size() && at < path.size() &&
               (pattern[p] == path[at] || (pattern[p] == '?' && path[at] != '/'))) {
      ++p;
      ++at;
    } else if (star != kNone && star_at < path.size() && path[star_at] != '/') {
      p = star;
      at = ++star_at;
    } else if (globe != kNone && globe_at < path.size()) {
      star = kNone;
      p = globe;
      at = ++globe_at;
      // "**/name" begins at a folder's start only.
      const bool whole = globe >= 1 && pattern[globe - 1] == '/';
      while (whole && at < path.size() && path[at - 1] != '/') at = ++globe_at;
    } else {
      return false;
    }
  }
}

IgnoreRules IgnoreRules::Parse(std::string_view text) {
  IgnoreRules rules;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = Trim(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.empty() || line.front() == '#') continue;
    Rule rule;
    rule.exception = line.front() == '!';
    if (rule.exception) line = Trim(line.substr(1));
    rule.pattern = Clean(line);
    if (rule.pattern.empty()) continue;
    rules.has_exceptions_ = rules.has_exceptions_ || rule.exception;
    rules.rules_.push_back(std::move(rule));
  }
  return rules;
}

// What fits a folder of the path fits all that is in it.
bool IgnoreRules::Ignores(std::string_view path) const {
  bool ignored = false;
  for (const Rule& rule : rules_) {
    if (rule.exception != ignored) continue;
    size_t end = path.find('/');
    bool fits = false;
    while (!fits) {
      fits = MatchesPattern(rule.pattern, path.substr(0, end));
      if (end == std::string_view::npos) break;
      end = path.find('/', end + 1);
    }
    if (fits) ignored = !rule.exception;
  }
  return ignored;
}

}  // namespace fetchbench::docker
