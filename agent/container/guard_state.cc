#include "agent/container/guard_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <cerrno>
#include <charconv>
#include <map>
#include <sstream>

#include "common/fd.h"
#include "common/status_util.h"

namespace fetchbench::agent {
namespace {

namespace ip = boost::asio::ip;

constexpr size_t kMaxStateBytes = 4096;
constexpr int kLeastPoolBits = 8;
constexpr int kMostPoolBits = 24;
// The name of a network interface has 15 bytes, and ours 5 digits at its end.
constexpr size_t kMaxBridgesBytes = 9;

std::map<std::string, std::string, std::less<>> Fields(std::string_view text) {
  std::map<std::string, std::string, std::less<>> fields;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    fields[std::string(line.substr(0, equals))] = line.substr(equals + 1);
  }
  return fields;
}

absl::Status Unusable(std::string_view why) {
  return absl::FailedPreconditionError(
      fmt::format("what fetchbench-guard noted is of no use: {}", why));
}

uint32_t Base(const GuardState& state, uint32_t n) {
  return state.pool + (n << (32 - kGuardedNetworkBits));
}

// Of words with blanks between; what is no address is none of ours.
std::vector<uint32_t> Addresses(const std::string& text) {
  std::vector<uint32_t> addresses;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    boost::system::error_code error;
    const ip::address_v4 address = ip::make_address_v4(word, error);
    if (!error) addresses.push_back(address.to_uint());
  }
  return addresses;
}

bool IsLetters(std::string_view text) {
  return text.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string_view::npos;
}

}  // namespace

absl::StatusOr<GuardState> ParseGuardState(std::string_view text) {
  auto fields = Fields(text);
  if (fields["version"] != std::to_string(kGuardVersion)) {
    return Unusable(
        fmt::format("its rules have version '{}', this agent knows {}; install guard and agent of "
                    "one release",
                    fields["version"], kGuardVersion));
  }
  boost::system::error_code error;
  const ip::network_v4 pool = ip::make_network_v4(fields["pool"], error);
  if (error || pool.prefix_length() < kLeastPoolBits || pool.prefix_length() > kMostPoolBits) {
    return Unusable(fmt::format("its pool is '{}'", fields["pool"]));
  }
  GuardState state;
  state.pool = pool.network().to_uint();
  state.pool_bits = pool.prefix_length();
  state.bridges = fields["bridges"];
  if (state.bridges.empty() || state.bridges.size() > kMaxBridgesBytes ||
      !IsLetters(state.bridges)) {
    return Unusable(fmt::format("its bridges are '{}'", state.bridges));
  }
  state.origins = Addresses(fields["origins"]);
  return state;
}

bool NamesOrigin(const GuardState& state, std::string_view address) {
  boost::system::error_code error;
  const ip::address_v4 wanted = ip::make_address_v4(address, error);
  return !error && std::ranges::find(state.origins, wanted.to_uint()) != state.origins.end();
}

absl::StatusOr<GuardState> ReadGuardState(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid()) return FromErrno(errno, path);
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return FromErrno(errno, path);
  if (!S_ISREG(info.st_mode) || info.st_uid != 0 || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return absl::PermissionDeniedError(
        fmt::format("{} is not a file that root alone may write", path));
  }
  std::array<char, kMaxStateBytes> bytes{};
  const ssize_t n = read(file.get(), bytes.data(), bytes.size());
  if (n < 0) return FromErrno(errno, path);
  return ParseGuardState({bytes.data(), static_cast<size_t>(n)});
}

uint32_t GuardedNetworks(const GuardState& state) {
  return uint32_t{1} << (kGuardedNetworkBits - state.pool_bits);
}

std::string GuardedSubnet(const GuardState& state, uint32_t n) {
  return fmt::format("{}/{}", ip::address_v4(Base(state, n)).to_string(), kGuardedNetworkBits);
}

std::string GuardedGateway(const GuardState& state, uint32_t n) {
  return ip::address_v4(Base(state, n) + 1).to_string();
}

}  // namespace fetchbench::agent
