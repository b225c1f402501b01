#include "coordinator/ui/human_numbers.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace fetchbench::coordinator {
namespace {

// Three significant digits below a thousand. The bounds allow for rounding: 9.996 is "10.0".
std::string ThreeDigits(double value) {
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

}  // namespace

std::string Grouped(uint64_t value) {
  std::string digits = std::to_string(value);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string HumanNumber(double value) {
  if (!std::isfinite(value) || value < 0) return "-";
  if (value == 0) return "0";
  if (value < 999.5) return ThreeDigits(value);
  if (value >= 1e15) return fmt::format("{:.2e}", value);
  return Grouped(static_cast<uint64_t>(std::llround(value)));
}

std::string HumanDuration(double us) {
  if (!std::isfinite(us) || us < 0) return "-";
  if (us < 999.5) return fmt::format("{:.0f} us", us);
  if (us < 999'500) return ThreeDigits(us / 1e3) + " ms";
  if (us < 99'950'000) return ThreeDigits(us / 1e6) + " s";
  const auto seconds = static_cast<uint64_t>(std::llround(us / 1e6));
  if (seconds < 3600) return fmt::format("{} m {:02} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {:02} m", Grouped(seconds / 3600), seconds / 60 % 60);
}

std::string HumanSeconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  const double whole = std::ceil(seconds);
  return whole < 100 ? fmt::format("{:.0f} s", whole) : HumanDuration(whole * 1e6);
}

std::string HumanBytes(double bytes) {
  constexpr std::array<const char*, 6> kUnits = {"kB", "MB", "GB", "TB", "PB", "EB"};
  if (!std::isfinite(bytes) || bytes < 0) return "-";
  if (bytes < 999.5) return fmt::format("{:.0f} B", bytes);
  size_t unit = 0;
  bytes /= 1000;
  while (bytes >= 999.5 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", ThreeDigits(bytes), kUnits[unit]);
}

std::string HumanPercent(double fraction) {
  if (!std::isfinite(fraction) || fraction < 0) return "-";
  const double percent = fraction * 100;
  if (percent > 0 && percent < 0.05) return "<0.1 %";
  if (percent < 100 && percent >= 99.95) return ">99.9 %";
  return fmt::format("{:.1f} %", percent);
}

}  // namespace fetchbench::coordinator
