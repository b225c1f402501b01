#pragma once

#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>
#include <type_traits>

namespace fetchbench::native {

// How a fetch can fail beside what the system, Beast, c-ares and TLS say.
enum class FetchErrc {
  kDeadline = 1,
  kCancelled,
  kBlockedAddress,
  kNoAddress,  // the name exists, or not, and has no address
  kClosed,     // the peer closed before a complete header section
  kNotHttp,    // the answer does not begin with a status line
  kBadStatus,  // a status code below 100
  kHeaderTooLarge,
  kTooManyInterim,     // 1xx without end
  kUnexpectedUpgrade,  // 101 though nothing was offered
  kBodyTooLarge,
  kBodyTruncated,
  kChunkTooLong,  // a chunk's size line, or the trailers, without end
  kRedirectLimit,
  kRedirectInvalid,
};

const boost::system::error_category& FetchErrorCategory();
boost::system::error_code make_error_code(FetchErrc code);

// c-ares status codes (ARES_ENOTFOUND ...) as error codes.
const boost::system::error_category& DnsErrorCategory();
boost::system::error_code MakeDnsError(int ares_status);

}  // namespace fetchbench::native

namespace boost::system {
template <>
struct is_error_code_enum<fetchbench::native::FetchErrc> : std::true_type {};
}  // namespace boost::system
