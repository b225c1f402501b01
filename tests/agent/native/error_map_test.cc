#include "agent/native/error_map.h"

#include <ares.h>
#include <gtest/gtest.h>

#include <boost/asio/error.hpp>
#include <boost/beast/http/error.hpp>
#include <cerrno>

#include "agent/native/errors.h"
#include "common/tls_stream.h"

namespace fetchbench::native {
namespace {

using boost::system::error_code;

error_code System(int value) { return {value, boost::system::system_category()}; }

TEST(ErrorMapTest, TheDeadlineIsNamedForItsPhase) {
  const error_code deadline = FetchErrc::kDeadline;
  EXPECT_EQ(OutcomeOf(Phase::kDns, deadline), Outcome::kDnsTimeout);
  EXPECT_EQ(OutcomeOf(Phase::kConnect, deadline), Outcome::kConnectTimeout);
  EXPECT_EQ(OutcomeOf(Phase::kTls, deadline), Outcome::kTimeoutBeforeHeaders);
  EXPECT_EQ(OutcomeOf(Phase::kRequest, deadline), Outcome::kTimeoutBeforeHeaders);
  EXPECT_EQ(OutcomeOf(Phase::kHeaders, deadline), Outcome::kTimeoutBeforeHeaders);
  EXPECT_EQ(OutcomeOf(Phase::kBody, deadline), Outcome::kTimeoutInBody);
  EXPECT_EQ(OutcomeOf(Phase::kBody, FetchErrc::kCancelled), Outcome::kCancelled);
}

TEST(ErrorMapTest, DnsStatuses) {
  const auto dns = [](int status) { return OutcomeOf(Phase::kDns, MakeDnsError(status)); };
  EXPECT_EQ(dns(ARES_ENOTFOUND), Outcome::kDnsNotFound);
  EXPECT_EQ(dns(ARES_ENODATA), Outcome::kDnsNotFound);
  EXPECT_EQ(dns(ARES_ETIMEOUT), Outcome::kDnsTimeout);
  for (const int status : {ARES_ESERVFAIL, ARES_EREFUSED, ARES_EFORMERR, ARES_ENOTIMP,
                           ARES_EBADRESP, ARES_ECONNREFUSED}) {
    EXPECT_EQ(dns(status), Outcome::kDnsFailure) << status;
  }
}

TEST(ErrorMapTest, ConnectErrors) {
  const auto connect = [](int value) { return OutcomeOf(Phase::kConnect, System(value)); };
  EXPECT_EQ(connect(ECONNREFUSED), Outcome::kConnectRefused);
  EXPECT_EQ(connect(ETIMEDOUT), Outcome::kConnectTimeout);
  EXPECT_EQ(connect(ECONNRESET), Outcome::kConnectionReset);
  for (const int value : {ENETUNREACH, EHOSTUNREACH, EADDRNOTAVAIL, EAFNOSUPPORT, EACCES}) {
    EXPECT_EQ(connect(value), Outcome::kConnectUnreachable) << value;
  }
}

TEST(ErrorMapTest, TlsErrorsDependOnThePhase) {
  EXPECT_EQ(OutcomeOf(Phase::kTls, TlsErrc::kCertificate), Outcome::kTlsCertificate);
  EXPECT_EQ(OutcomeOf(Phase::kTls, TlsErrc::kAlert), Outcome::kTlsHandshake);
  EXPECT_EQ(OutcomeOf(Phase::kTls, TlsErrc::kProtocol), Outcome::kTlsHandshake);
  EXPECT_EQ(OutcomeOf(Phase::kTls, TlsErrc::kTruncated), Outcome::kConnectionReset);
  EXPECT_EQ(OutcomeOf(Phase::kHeaders, TlsErrc::kAlert), Outcome::kTlsHandshake);
  EXPECT_EQ(OutcomeOf(Phase::kHeaders, TlsErrc::kTruncated), Outcome::kConnectionReset);
  EXPECT_EQ(OutcomeOf(Phase::kBody, TlsErrc::kTruncated), Outcome::kBodyTruncated);
  EXPECT_EQ(OutcomeOf(Phase::kBody, TlsErrc::kProtocol), Outcome::kResponseMalformed);
}

TEST(ErrorMapTest, ResetsAreOneOutcomeAfterConnect) {
  for (const Phase phase : {Phase::kTls, Phase::kRequest, Phase::kHeaders, Phase::kBody}) {
    EXPECT_EQ(OutcomeOf(phase, System(ECONNRESET)), Outcome::kConnectionReset);
    EXPECT_EQ(OutcomeOf(phase, System(EPIPE)), Outcome::kConnectionReset);
  }
  EXPECT_EQ(OutcomeOf(Phase::kHeaders, FetchErrc::kClosed), Outcome::kConnectionReset);
  EXPECT_EQ(OutcomeOf(Phase::kTls, boost::asio::error::eof), Outcome::kConnectionReset);
}

TEST(ErrorMapTest, EveryErrorOfOursHasAnOutcomeOfItsOwnKind) {
  for (int value = static_cast<int>(FetchErrc::kDeadline);
       value <= static_cast<int>(FetchErrc::kRedirectInvalid); ++value) {
    const error_code error = static_cast<FetchErrc>(value);
    EXPECT_NE(OutcomeOf(Phase::kBody, error), Outcome::kClientError) << error.message();
    EXPECT_NE(error.message(), "unknown fetch error") << value;
  }
}

TEST(ErrorMapTest, BeastErrorsAreMalformedResponses) {
  using boost::beast::http::error;
  for (const error value : {error::bad_version, error::bad_field, error::bad_chunk,
                            error::bad_content_length, error::multiple_content_length}) {
    EXPECT_EQ(OutcomeOf(Phase::kHeaders, value), Outcome::kResponseMalformed);
  }
}

TEST(ErrorMapTest, RunningOutOfDescriptorsOrMemoryIsFatal) {
  for (const int value : {EMFILE, ENFILE, ENOMEM, ENOBUFS}) {
    EXPECT_TRUE(IsFatal(System(value))) << value;
  }
  EXPECT_FALSE(IsFatal(System(ECONNREFUSED)));
  EXPECT_FALSE(IsFatal(FetchErrc::kDeadline));
}

}  // namespace
}  // namespace fetchbench::native
