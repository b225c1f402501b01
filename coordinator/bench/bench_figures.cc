#include "coordinator/bench/bench_figures.h"

#include <algorithm>

namespace fetchbench::coordinator {
namespace {

double Ms(double us) { return us / 1000; }
double Count(uint64_t n) { return static_cast<double>(n); }

constexpr double kMib = 1 << 20;

}  // namespace

const std::vector<BenchFigure>& BenchFigures() {
  // The original's columns round as it did: milliseconds and counts whole, the share to 2 places.
  static const std::vector<BenchFigure> figures{
      {"totalUrls", 0, [](const Summary& s) { return Count(s.measured.total_urls); }},
      {"time", 0, [](const Summary& s) { return Ms(static_cast<double>(s.measured.time_us)); }},
      {"avg", 0, [](const Summary& s) { return Ms(s.measured.all.mean_us); }},
      {"max", 0, [](const Summary& s) { return Ms(static_cast<double>(s.measured.all.max_us)); }},
      {"okReqsSec", 0, [](const Summary& s) { return s.measured.ok_per_second; }},
      {"okReqsPct", 2, [](const Summary& s) { return s.measured.ok_fraction; }},
      {"avgBodyLen", 0, [](const Summary& s) { return s.measured.mean_ok_body_bytes; }},
      {"2xx", 0, [](const Summary& s) { return Count(s.measured.classes.ok); }},
      {"3xx", 0, [](const Summary& s) { return Count(s.measured.classes.redirect); }},
      {"4xx", 0, [](const Summary& s) { return Count(s.measured.classes.client_error); }},
      {"5xx", 0, [](const Summary& s) { return Count(s.measured.classes.server_error); }},
      {"Exception", 0, [](const Summary& s) { return Count(s.measured.classes.exceptions); }},
      {"p50", 0, [](const Summary& s) { return Ms(static_cast<double>(s.measured.all.p50_us)); }},
      {"p99", 0, [](const Summary& s) { return Ms(static_cast<double>(s.measured.all.p99_us)); }},
      {"CPU s", 2,
       [](const Summary& s) {
         return static_cast<double>(s.cost.user_us + s.cost.system_us) / 1e6;
       }},
      {"peak MiB", 0, [](const Summary& s) { return Count(s.cost.peak_rss_bytes_max) / kMib; }},
  };
  return figures;
}

Spread SpreadOf(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

}  // namespace fetchbench::coordinator
