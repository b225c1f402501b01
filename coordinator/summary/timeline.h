#pragma once

#include <cstdint>
#include <vector>

namespace fetchbench::coordinator {

// How many events had happened by when, for events that come in any order of time. Equal bins over
// the range seen so far; when the range outgrows kBins, the bins double in width, so memory is
// fixed (512 KiB). A time is exact to one bin: 1 ms, or once the range is beyond a minute about a
// 28,000th of it (a 4,000th when the first event seen was not among the earliest). Not thread-safe.
class Timeline {
 public:
  static constexpr int64_t kBins = 65'536;
  static constexpr int64_t kFirstWidthUs = 1'000;

  // Any value is accepted; a far-off one only makes bins wide.
  void Add(int64_t time_us);

  // End of the bin in which the event of rank ceil(q * count) lies; 0 when empty. q is cut to 0..1.
  int64_t TimeOf(double q) const;
  uint64_t count() const { return count_; }

 private:
  void Widen(bool downwards);

  std::vector<uint64_t> bins_;
  int64_t first_bin_ = 0;  // number of bins_[0], counted from the epoch in units of width_us_
  int64_t width_us_ = kFirstWidthUs;
  uint64_t count_ = 0;
};

}  // namespace fetchbench::coordinator
