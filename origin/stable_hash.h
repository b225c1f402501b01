#pragma once

#include <cstdint>
#include <string_view>

// The one hash that decides what the simulated web looks like. Its output is part of the profile
// format: the same (seed, purpose, text) gives the same value on every machine and in every later
// version. It must never change; std::hash and absl::Hash promise no such thing.
namespace fetchbench::origin {

// 64-bit FNV-1a over the seed (8 bytes, little endian), the purpose, a zero byte and the text,
// finished with the mixer of SplitMix64, because FNV alone leaves the high bits of short names
// alike.
constexpr uint64_t StableHash(uint64_t seed, std::string_view purpose, std::string_view text) {
  uint64_t h = 0xcbf29ce484222325;
  const auto add = [&h](uint8_t byte) { h = (h ^ byte) * 0x100000001b3; };
  for (int i = 0; i < 8; ++i) add(static_cast<uint8_t>(seed >> (8 * i)));
  for (const char c : purpose) add(static_cast<uint8_t>(c));
  add(0);
  for (const char c : text) add(static_cast<uint8_t>(c));
  h += 0x9e3779b97f4a7c15;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9;
  h = (h ^ (h >> 27)) * 0x94d049bb133111eb;
  return h ^ (h >> 31);
}

// The same as a number inside (0, 1), never 0 or 1.
constexpr double StableUniform(uint64_t seed, std::string_view purpose, std::string_view text) {
  constexpr double kScale = 1.0 / (uint64_t{1} << 53);
  return (static_cast<double>(StableHash(seed, purpose, text) >> 11) + 0.5) * kScale;
}

}  // namespace fetchbench::origin
