#pragma once

#include <cstdint>
#include <string>

// Figures for people, three digits or so. Pure.
namespace fetchbench::coordinator {

// "10,000"
std::string Grouped(uint64_t value);

// "0.42", "12.3", "680", "1,234": for rates and the like.
std::string HumanNumber(double value);

// "830 us", "12.3 ms", "680 ms", "5.02 s", "1 m 40 s", "2 h 05 m".
std::string HumanDuration(double us);

// The same in whole seconds, rounded up: "0 s", "9 s", "1 m 40 s": for what changes while one
// looks.
std::string HumanSeconds(double seconds);

// "999 B", "34.2 kB", "2.56 GB": powers of 1000.
std::string HumanBytes(double bytes);

// "79.8 %" of a fraction of 1. What is not 0 or 1 is never shown as 0 % or 100 %: "<0.1 %", ">99.9
// %".
std::string HumanPercent(double fraction);

}  // namespace fetchbench::coordinator
