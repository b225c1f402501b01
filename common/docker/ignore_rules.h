#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fetchbench::docker {

// The lines of a .dockerignore: patterns relative to the folder with '*', '?' and '**', '!' for
// exceptions, '#' for remarks; the last line that fits decides. Character classes are not known.
// Pure.
class IgnoreRules {
 public:
  static IgnoreRules Parse(std::string_view text);

  // `path` is relative. A folder that is ignored may hold files that are not when there are
  // exceptions.
  bool Ignores(std::string_view path) const;
  bool has_exceptions() const { return has_exceptions_; }

 private:
  struct Rule {
    std::string pattern;
    bool exception = false;
  };
  std::vector<Rule> rules_;
  bool has_exceptions_ = false;
};

// Whether the whole of `path` fits `pattern`. Pure.
bool MatchesPattern(std::string_view pattern, std::string_view path);

}  // namespace fetchbench::docker
