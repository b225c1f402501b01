#pragma once

#include <cstddef>
#include <cstdint>

// Within what the numbers of a run's options are: of the command line, and of the file by which a
// run is gone on with.
namespace fetchbench::coordinator {

template <typename Number>
struct Range {
  Number least;
  Number most;
};

// The longest time that means anything to a run.
inline constexpr double kMaxSeconds = 10 * 365.0 * 86'400;

inline constexpr Range<uint32_t> kConcurrencies{1, 100'000};
inline constexpr Range<uint32_t> kPerHosts{0, 100'000};  // 0: no limit
inline constexpr Range<uint32_t> kThreadCounts{1, 1024};
inline constexpr Range<uint64_t> kBodyBytes{1, uint64_t{1} << 50};
inline constexpr Range<uint64_t> kMemoryBytes{uint64_t{6} << 20,  // the Docker Engine's own limit
                                              uint64_t{1} << 40};
inline constexpr Range<double> kCpus{0.01, 1024};

// Seconds.
inline constexpr Range<double> kTimeouts{0.001, 86'400};
inline constexpr Range<double> kConnectTimeouts{0.1, kMaxSeconds};
inline constexpr Range<double> kSilences{2, kMaxSeconds};    // twice what agents report in
inline constexpr Range<double> kAnySeconds{0, kMaxSeconds};  // duration, grace, giving up

}  // namespace fetchbench::coordinator
