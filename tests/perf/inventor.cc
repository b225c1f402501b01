// fetchbench-inventor: speaks a target's contract and fetches nothing. It answers every URL at once
// with a plausible plain line, so that agent and coordinator can be loaded far beyond what any
// fetcher gives. What it invents is a function of the URL and of INVENTOR_SEED (default 1): the
// shares are about those of the published run.

#include <fmt/compile.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "common/record_line.h"

namespace fetchbench {
namespace {

constexpr size_t kBufferBytes = 1 << 20;

struct Invention {
  unsigned share;  // of 1000, cumulated
  std::string_view code;
  bool has_body;
};

constexpr std::array<Invention, 12> kInventions = {{
    {798, "200", true},
    {830, "403", true},
    {880, "404", true},
    {895, "429", true},
    {897, "503", true},
    {960, "dns_not_found: NXDOMAIN", false},
    {970, "dns_failure: SERVFAIL", false},
    {978, "connect_refused: Connection refused", false},
    {985, "tls_certificate: certificate has expired", false},
    {993, "timeout_before_headers: no answer within 5000 ms", false},
    {997, "connection_reset: Connection reset by peer", false},
    {1000, "connect_timeout: no answer within 5000 ms", false},
}};

// FNV-1a with a final mix; stable on every machine.
uint64_t Hash(std::string_view text, uint64_t seed) {
  uint64_t h = 0xcbf29ce484222325ULL ^ (seed * 0x9e3779b97f4a7c15ULL);
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93ULL;
  return h ^ (h >> 32);
}

bool WriteAll(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

class Inventor {
 public:
  explicit Inventor(uint64_t seed) : seed_(seed) { out_.reserve(kBufferBytes + (64 << 10)); }

  // Answers the complete lines of `text`; returns how many bytes they took.
  size_t Answer(std::string_view text) {
    ReadClock();
    size_t used = 0;
    while (true) {
      const size_t end = text.find('\n', used);
      if (end == std::string_view::npos) return used;
      AnswerOne(text.substr(used, end - used));
      used = end + 1;
    }
  }

  bool Flush() {
    const bool ok = WriteAll(out_);
    out_.clear();
    return ok;
  }

 private:
  // One reading of the clock serves a whole buffer.
  void ReadClock() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    start_.clear();
    AppendRfc3339(start_, std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  }

  void AnswerOne(std::string_view url) {
    const uint64_t h = Hash(url, seed_);
    const auto share = static_cast<unsigned>(h % 1000);
    const Invention* invention = kInventions.data();
    while (invention->share <= share) ++invention;
    const uint64_t duration_us = 20'000 + ((h >> 10) % 1'300'000);
    const uint64_t body = invention->has_body ? (h >> 32) % 400'000 : 0;
    out_ += url;
    fmt::format_to(std::back_inserter(out_), FMT_COMPILE(",{},{},{}.{:03},{}\n"), invention->code,
                   start_, duration_us / 1000, duration_us % 1000, body);
    if (out_.size() > kBufferBytes) Flush();
  }

  const uint64_t seed_;
  std::string start_;
  std::string out_;
};

int Run(uint64_t seed) {
  Inventor inventor(seed);
  std::vector<char> buffer(kBufferBytes);
  size_t filled = 0;
  while (true) {
    const ssize_t n = read(STDIN_FILENO, buffer.data() + filled, buffer.size() - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0 ? 0 : 1;
    filled += static_cast<size_t>(n);
    const size_t used = inventor.Answer(std::string_view(buffer.data(), filled));
    if (!inventor.Flush()) return 1;
    std::copy(buffer.begin() + static_cast<ptrdiff_t>(used),
              buffer.begin() + static_cast<ptrdiff_t>(filled), buffer.begin());
    filled -= used;
    if (filled == buffer.size()) buffer.resize(2 * buffer.size());  // a URL longer than the buffer
  }
}

}  // namespace
}  // namespace fetchbench

int main(int argc, char** argv) {
  // The options of a fetcher mean nothing here and are passed over.
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--describe") {
      fmt::print(
          "{{\"name\":\"inventor\",\"version\":\"1\",\"runtime\":\"C++\",\"libraries\":[]}}\n");
      return 0;
    }
  }
  const char* seed = std::getenv("INVENTOR_SEED");
  return fetchbench::Run(seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10));
}
