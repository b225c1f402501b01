#pragma once

#include <string>
#include <string_view>

namespace fetchbench::coordinator {

// Wraps text into a colour, or leaves it alone where there is none.
class Paint {
 public:
  explicit Paint(bool on) : on_(on) {}

  std::string Bold(std::string_view text) const { return Sgr("1", text); }
  std::string Dim(std::string_view text) const { return Sgr("2", text); }
  std::string Red(std::string_view text) const { return Sgr("31", text); }
  std::string Green(std::string_view text) const { return Sgr("32", text); }
  std::string Yellow(std::string_view text) const { return Sgr("33", text); }
  std::string Magenta(std::string_view text) const { return Sgr("35", text); }
  std::string Cyan(std::string_view text) const { return Sgr("36", text); }

 private:
  std::string Sgr(std::string_view code, std::string_view text) const {
    if (!on_ || text.empty()) return std::string(text);
    std::string out("\x1b[");
    return out.append(code).append("m").append(text).append("\x1b[0m");
  }

  bool on_;
};

}  // namespace fetchbench::coordinator
