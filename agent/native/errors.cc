#include "agent/native/errors.h"

#include <ares.h>

#include <string>

namespace fetchbench::native {
namespace {

// Boost's category has a non-virtual destructor so that it can be constexpr; nobody deletes ours
// through the base.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
class FetchCategory final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "fetchbench.fetch"; }
  std::string message(int value) const override {
    switch (static_cast<FetchErrc>(value)) {
      case FetchErrc::kDeadline:
        return "deadline passed";
      case FetchErrc::kCancelled:
        return "cancelled";
      case FetchErrc::kBlockedAddress:
        return "address is not public";
      case FetchErrc::kNoAddress:
        return "host has no address";
      case FetchErrc::kClosed:
        return "connection closed before a complete response";
      case FetchErrc::kNotHttp:
        return "answer is not HTTP/1";
      case FetchErrc::kBadStatus:
        return "status code below 100";
      case FetchErrc::kHeaderTooLarge:
        return "header section larger than 64 KiB";
      case FetchErrc::kTooManyInterim:
        return "too many 1xx responses";
      case FetchErrc::kUnexpectedUpgrade:
        return "101 Switching Protocols though no upgrade was offered";
      case FetchErrc::kBodyTooLarge:
        return "body larger than allowed";
      case FetchErrc::kBodyTruncated:
        return "body ended early";
      case FetchErrc::kChunkTooLong:
        return "chunk size line or trailers too long";
      case FetchErrc::kRedirectLimit:
        return "too many redirects";
      case FetchErrc::kRedirectInvalid:
        return "bad Location";
    }
    return "unknown fetch error";
  }
};

class DnsCategory final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "fetchbench.dns"; }
  std::string message(int value) const override { return ares_strerror(value); }
};
#pragma GCC diagnostic pop

}  // namespace

const boost::system::error_category& FetchErrorCategory() {
  static const FetchCategory category;
  return category;
}

boost::system::error_code make_error_code(FetchErrc code) {
  return {static_cast<int>(code), FetchErrorCategory()};
}

const boost::system::error_category& DnsErrorCategory() {
  static const DnsCategory category;
  return category;
}

boost::system::error_code MakeDnsError(int ares_status) {
  return {ares_status, DnsErrorCategory()};
}

}  // namespace fetchbench::native
