#include "origin/options.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/ip/address_v4.hpp>
#include <charconv>

namespace fetchbench::origin {
namespace {

// Several refusing and black-hole addresses keep a client from putting all of its SYNs into one
// kernel hash bucket; more than a few would gain nothing.
constexpr uint32_t kRefusingAddresses = 256;
constexpr uint32_t kBlackHoleAddresses = 16;
constexpr uint64_t kOwnDescriptors =
    128;  // DNS, control, epoll, timer, standard streams, libraries

absl::StatusOr<uint32_t> ParseAddress(const std::string& text, std::string_view option) {
  boost::system::error_code ec;
  const auto address = boost::asio::ip::make_address_v4(text, ec);
  if (ec) {
    return absl::InvalidArgumentError(fmt::format("{}: '{}' is not an IPv4 address", option, text));
  }
  return address.to_uint();
}

absl::Status AppendRange(const std::string& first, uint32_t count, std::string_view option,
                         std::vector<uint32_t>& out) {
  const auto address = ParseAddress(first, option);
  if (!address.ok()) return address.status();
  if (UINT32_MAX - *address < count) {
    return absl::InvalidArgumentError(
        fmt::format("{}: there are no {} addresses from {} on", option, count, first));
  }
  for (uint32_t i = 0; i < count; ++i) out.push_back(*address + i);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AddressBook> MakeAddressBook(const Options& options) {
  AddressBook book;
  const bool given = !options.listen.empty();
  absl::Status status;
  for (const std::string& text : options.listen) {
    status.Update(AppendRange(text, 1, "--listen", book.serving));
  }
  if (!given) {
    status.Update(
        AppendRange(options.first_address, options.addresses, "--first-address", book.serving));
  }
  // Addresses given one by one are a network's; there the neighbours belong to others.
  status.Update(AppendRange(options.refusing_address, given ? 1 : kRefusingAddresses,
                            "--refusing-address", book.refusing));
  status.Update(AppendRange(options.black_hole_address, given ? 1 : kBlackHoleAddresses,
                            "--black-hole-address", book.black_hole));
  if (!status.ok()) return status;
  if (book.serving.empty()) return absl::InvalidArgumentError("--addresses: must be 1 or more");
  return book;
}

std::string ReachWarning(const AddressBook& addresses) {
  const auto is_loopback = [](uint32_t address) {
    return boost::asio::ip::make_address_v4(address).is_loopback();
  };
  if (std::ranges::all_of(addresses.serving, is_loopback)) return "";
  std::string options;
  if (std::ranges::any_of(addresses.refusing, is_loopback)) options = "--refusing-address";
  if (std::ranges::any_of(addresses.black_hole, is_loopback)) {
    options += options.empty() ? "--black-hole-address" : " and --black-hole-address";
  }
  if (options.empty()) return "";
  return fmt::format(
      "clients on other machines and in containers find their own loopback where hosts that refuse "
      "or never accept should be, and both refuse them: name addresses of this machine that they "
      "reach with {}",
      options);
}

uint64_t DescriptorsNeeded(const Options& options, const AddressBook& addresses) {
  // For http and for https: a listener each, and a black hole's own connection.
  return 2 * (addresses.serving.size() + 2 * addresses.black_hole.size()) +
         options.max_connections + kOwnDescriptors;
}

absl::Status RaiseDescriptorLimit(uint64_t needed) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return absl::ErrnoToStatus(errno, "RLIMIT_NOFILE");
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return absl::ErrnoToStatus(errno, "RLIMIT_NOFILE");
  if (needed <= limit.rlim_max) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      fmt::format("{} descriptors are needed, but the limit is {} (RLIMIT_NOFILE): lower "
                  "--addresses (2 each) or --max-connections (1 each), or raise the hard limit",
                  needed, limit.rlim_max));
}

absl::StatusOr<HostPort> ParseHostPort(const std::string& text) {
  const size_t colon = text.rfind(':');
  const absl::Status wrong =
      absl::InvalidArgumentError(fmt::format("'{}' is not ADDRESS:PORT", text));
  if (colon == std::string::npos) return wrong;
  const auto address = ParseAddress(text.substr(0, colon), "address");
  if (!address.ok()) return wrong;
  HostPort result{*address, 0};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, result.port);
  if (error != std::errc() || stop != end) return wrong;
  return result;
}

}  // namespace fetchbench::origin
