#pragma once

#include <map>
#include <sstream>
#include <string>

#include "tests/support/http_get.h"

namespace fetchbench::test {

// What a Prometheus endpoint tells: "name{labels}" -> value.
inline std::map<std::string, double> Scrape(const std::string& url) {
  std::map<std::string, double> samples;
  std::istringstream lines(HttpGet(url));
  std::string line;
  while (std::getline(lines, line)) {
    const size_t space = line.rfind(' ');
    if (line.empty() || line[0] == '#' || space == std::string::npos) continue;
    samples[line.substr(0, space)] = std::stod(line.substr(space + 1));
  }
  return samples;
}

}  // namespace fetchbench::test
