#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace fetchbench::coordinator {

// The text of golden/<name>.txt. With UPDATE_GOLDEN set, `actual` becomes that text first: run the
// tests so after a wanted change, and read the difference.
inline std::string Golden(const std::string& name, const std::string& actual) {
  const std::string path = std::string(GOLDEN_DIR) + "/" + name + ".txt";
  if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(path) << actual;
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace fetchbench::coordinator
