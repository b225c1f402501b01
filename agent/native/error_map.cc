#include "agent/native/error_map.h"

#include <ares.h>

#include <boost/asio/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/system/errc.hpp>

#include "agent/native/errors.h"
#include "common/tls_stream.h"

namespace fetchbench::native {
namespace {

namespace errc = boost::system::errc;
using boost::system::error_code;

Outcome DeadlineOutcome(Phase phase) {
  switch (phase) {
    case Phase::kDns:
      return Outcome::kDnsTimeout;
    case Phase::kConnect:
      return Outcome::kConnectTimeout;
    case Phase::kBody:
      return Outcome::kTimeoutInBody;
    case Phase::kTls:
    case Phase::kRequest:
    case Phase::kHeaders:
    case Phase::kRedirect:
      return Outcome::kTimeoutBeforeHeaders;
  }
  return Outcome::kClientError;
}

Outcome FetchOutcome(Phase phase, FetchErrc error) {
  switch (error) {
    case FetchErrc::kDeadline:
      return DeadlineOutcome(phase);
    case FetchErrc::kCancelled:
      return Outcome::kCancelled;
    case FetchErrc::kBlockedAddress:
      return Outcome::kBlockedAddress;
    case FetchErrc::kNoAddress:
      return Outcome::kDnsNotFound;
    case FetchErrc::kClosed:
      return Outcome::kConnectionReset;
    case FetchErrc::kNotHttp:
    case FetchErrc::kBadStatus:
    case FetchErrc::kTooManyInterim:
    case FetchErrc::kUnexpectedUpgrade:
    case FetchErrc::kChunkTooLong:
      return Outcome::kResponseMalformed;
    case FetchErrc::kHeaderTooLarge:
      return Outcome::kHeaderTooLarge;
    case FetchErrc::kBodyTooLarge:
      return Outcome::kBodyTooLarge;
    case FetchErrc::kBodyTruncated:
      return Outcome::kBodyTruncated;
    case FetchErrc::kRedirectLimit:
      return Outcome::kRedirectLimit;
    case FetchErrc::kRedirectInvalid:
      return Outcome::kRedirectInvalid;
  }
  return Outcome::kClientError;
}

Outcome DnsOutcome(int status) {
  switch (status) {
    case ARES_ENOTFOUND:
    case ARES_ENODATA:
      return Outcome::kDnsNotFound;
    case ARES_ETIMEOUT:
      return Outcome::kDnsTimeout;
    default:
      return Outcome::kDnsFailure;
  }
}

// Before a complete response every end of the connection is kConnectionReset; in the body an end
// that the peer did not mark as one is kBodyTruncated.
Outcome TlsOutcome(Phase phase, TlsErrc error) {
  const bool handshake = phase == Phase::kTls;
  switch (error) {
    case TlsErrc::kCertificate:
      return Outcome::kTlsCertificate;
    case TlsErrc::kTruncated:
      return phase == Phase::kBody ? Outcome::kBodyTruncated : Outcome::kConnectionReset;
    case TlsErrc::kAlert:
      // With TLS 1.3 a server refuses a client only after the client's side of the handshake is
      // done: such an alert arrives where the response should.
      return phase == Phase::kBody ? Outcome::kBodyTruncated : Outcome::kTlsHandshake;
    case TlsErrc::kProtocol:
      return handshake ? Outcome::kTlsHandshake : Outcome::kResponseMalformed;
  }
  return Outcome::kClientError;
}

Outcome ConnectOutcome(const error_code& error) {
  if (error == errc::connection_refused) return Outcome::kConnectRefused;
  if (error == errc::timed_out) return Outcome::kConnectTimeout;
  if (error == errc::network_unreachable || error == errc::host_unreachable ||
      error == errc::network_down || error == errc::address_not_available ||
      error == errc::permission_denied || error == errc::invalid_argument ||
      error == errc::operation_not_permitted || error == errc::address_family_not_supported ||
      error.value() == EHOSTDOWN) {
    return Outcome::kConnectUnreachable;
  }
  if (error == errc::connection_reset || error == errc::connection_aborted) {
    return Outcome::kConnectionReset;
  }
  return Outcome::kClientError;
}

Outcome SystemOutcome(Phase phase, const error_code& error) {
  if (phase == Phase::kDns) return Outcome::kDnsFailure;
  if (phase == Phase::kConnect) return ConnectOutcome(error);
  if (error == errc::timed_out) return DeadlineOutcome(phase);  // the kernel gave up first
  if (error == errc::connection_reset || error == errc::broken_pipe ||
      error == errc::connection_aborted || error == errc::not_connected ||
      error == errc::connection_refused || error == errc::host_unreachable ||
      error == errc::network_unreachable) {
    return Outcome::kConnectionReset;
  }
  return Outcome::kClientError;
}

}  // namespace

std::string_view PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kDns:
      return "resolving";
    case Phase::kConnect:
      return "connecting";
    case Phase::kTls:
      return "in the TLS handshake";
    case Phase::kRequest:
      return "sending the request";
    case Phase::kHeaders:
      return "waiting for the headers";
    case Phase::kBody:
      return "reading the body";
    case Phase::kRedirect:
      return "following a redirect";
  }
  return "unknown phase";
}

Outcome OutcomeOf(Phase phase, const error_code& error) {
  namespace http = boost::beast::http;
  static const error_code kBeast = http::make_error_code(http::error::end_of_stream);
  if (error.category() == FetchErrorCategory()) {
    return FetchOutcome(phase, static_cast<FetchErrc>(error.value()));
  }
  if (error.category() == DnsErrorCategory()) return DnsOutcome(error.value());
  if (error.category() == TlsErrorCategory()) {
    return TlsOutcome(phase, static_cast<TlsErrc>(error.value()));
  }
  if (error == boost::asio::error::eof) {
    return phase == Phase::kBody ? Outcome::kBodyTruncated : Outcome::kConnectionReset;
  }
  if (error.category() == kBeast.category()) return Outcome::kResponseMalformed;
  return SystemOutcome(phase, error);
}

bool IsFatal(const error_code& error) {
  return error == errc::too_many_files_open || error == errc::too_many_files_open_in_system ||
         error == errc::not_enough_memory || error == errc::no_buffer_space;
}

}  // namespace fetchbench::native
