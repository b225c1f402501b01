#include "common/tls_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <csignal>

#include "common/net.h"
#include "tests/support/test_certificates.h"

namespace fetchbench {
namespace {

namespace http = boost::beast::http;
using net::ip::tcp;
using testing::CertificateKind;
using testing::TestCa;

struct Ends {
  std::unique_ptr<TlsStream> client;
  std::unique_ptr<TlsStream> server;
};

class TlsStreamTest : public ::testing::Test {
 protected:
  TlsStreamTest() { std::signal(SIGPIPE, SIG_IGN); }

  // Two TLS ends over one loopback connection; `verify_host` is what the client expects to meet.
  Ends Connect(CertificateKind kind = CertificateKind::kGood,
               const std::string& verify_host = "a.test") {
    server_context_ = ca_.ServerContext("a.test", kind);
    client_context_ = ca_.ClientContext();
    tcp::acceptor acceptor(io_, tcp::endpoint(net::ip::address_v4::loopback(), 0));
    tcp::socket client(io_);
    client.connect(acceptor.local_endpoint());
    Ends ends{std::make_unique<TlsStream>(std::move(client), client_context_.get()),
              std::make_unique<TlsStream>(acceptor.accept(), server_context_.get())};
    SSL_set1_host(ends.client->native_handle(), verify_host.c_str());
    return ends;
  }

  void Handshake(Ends& ends) {
    ends.client->async_handshake(TlsRole::kClient,
                                 [this](error_code ec, size_t) { client_ec_ = ec; });
    ends.server->async_handshake(TlsRole::kServer,
                                 [this](error_code ec, size_t) { server_ec_ = ec; });
    Run();
  }

  // What one read at the client's end gives.
  error_code ClientRead(Ends& ends) {
    error_code result;
    ends.client->async_read_some(net::buffer(scratch_),
                                 [&result](error_code ec, size_t) { result = ec; });
    Run();
    return result;
  }

  void Run() {
    io_.restart();
    io_.run();
  }

  net::io_context io_{1};
  TestCa ca_;
  std::shared_ptr<SSL_CTX> server_context_;
  std::shared_ptr<SSL_CTX> client_context_;
  error_code client_ec_;
  error_code server_ec_;
  std::array<char, 1024> scratch_{};
};

TEST_F(TlsStreamTest, CarriesABeastExchangeBothWays) {
  Ends ends = Connect();
  Handshake(ends);
  ASSERT_FALSE(client_ec_) << ends.client->error_text();
  ASSERT_FALSE(server_ec_) << ends.server->error_text();
  http::request<http::empty_body> request(http::verb::get, "/", 11);
  http::request<http::empty_body> received;
  http::response<http::string_body> response(http::status::ok, 11);
  response.body().assign(1'000'000, 'x');
  response.prepare_payload();
  http::response_parser<http::string_body> parser;
  boost::beast::flat_buffer client_buffer;
  boost::beast::flat_buffer server_buffer;
  http::async_write(*ends.client, request, [&](error_code ec, size_t) { client_ec_ = ec; });
  http::async_read(*ends.server, server_buffer, received, [&](error_code ec, size_t) {
    server_ec_ = ec;
    http::async_write(*ends.server, response, [&](error_code e, size_t) { server_ec_ = e; });
  });
  http::async_read(*ends.client, client_buffer, parser,
                   [&](error_code ec, size_t) { client_ec_ = ec; });
  Run();
  EXPECT_FALSE(client_ec_) << client_ec_.message();
  EXPECT_FALSE(server_ec_) << server_ec_.message();
  EXPECT_EQ(parser.get().body().size(), 1'000'000u);
  EXPECT_GT(ends.client->session().wire_bytes_read(), 1'000'000u);
}

TEST_F(TlsStreamTest, AnExpiredCertificateIsACertificateErrorWithTheVerifyText) {
  Ends ends = Connect(CertificateKind::kExpired);
  Handshake(ends);
  EXPECT_EQ(client_ec_, TlsErrc::kCertificate);
  EXPECT_THAT(ends.client->error_text(), ::testing::HasSubstr("expired"));
  EXPECT_EQ(server_ec_, TlsErrc::kAlert) << server_ec_.message();
}

TEST_F(TlsStreamTest, AWrongHostNameIsACertificateError) {
  Ends ends = Connect(CertificateKind::kGood, "b.test");
  Handshake(ends);
  EXPECT_EQ(client_ec_, TlsErrc::kCertificate);
  EXPECT_THAT(ends.client->error_text(), ::testing::HasSubstr("ostname mismatch"));
}

TEST_F(TlsStreamTest, PlainTextInsteadOfTlsIsAProtocolError) {
  Ends ends = Connect();
  const std::string answer = "HTTP/1.1 400 Bad Request\r\n\r\n";
  net::write(ends.server->next_layer(), net::buffer(answer));
  ends.client->async_handshake(TlsRole::kClient,
                               [this](error_code ec, size_t) { client_ec_ = ec; });
  Run();
  EXPECT_EQ(client_ec_, TlsErrc::kProtocol) << client_ec_.message();
  EXPECT_FALSE(ends.client->error_text().empty());
}

TEST_F(TlsStreamTest, CloseNotifyIsACleanEnd) {
  Ends ends = Connect();
  Handshake(ends);
  ends.server->async_shutdown([](error_code, size_t) {});
  Run();
  EXPECT_EQ(ClientRead(ends), net::error::eof);
}

TEST_F(TlsStreamTest, CloseWithoutCloseNotifyIsTruncation) {
  Ends ends = Connect();
  Handshake(ends);
  ends.server->next_layer().shutdown(tcp::socket::shutdown_send);
  EXPECT_EQ(ClientRead(ends), TlsErrc::kTruncated);
}

TEST_F(TlsStreamTest, AResetKeepsItsSystemCode) {
  Ends ends = Connect();
  Handshake(ends);
  ends.server->next_layer().set_option(net::socket_base::linger(true, 0));
  ends.server->next_layer().close();
  EXPECT_EQ(ClientRead(ends), net::error::connection_reset);
}

TEST_F(TlsStreamTest, CloseDuringTheHandshakeIsTruncation) {
  Ends ends = Connect();
  ends.server->next_layer().shutdown(tcp::socket::shutdown_send);
  ends.client->async_handshake(TlsRole::kClient,
                               [this](error_code ec, size_t) { client_ec_ = ec; });
  Run();
  EXPECT_EQ(client_ec_, TlsErrc::kTruncated) << client_ec_.message();
}

TEST_F(TlsStreamTest, ClosingTheSocketAbortsWhatIsInFlight) {
  Ends ends = Connect();
  Handshake(ends);
  ends.client->async_read_some(net::buffer(scratch_),
                               [this](error_code ec, size_t) { client_ec_ = ec; });
  net::post(io_, [&] { ends.client->next_layer().close(); });
  Run();
  EXPECT_EQ(client_ec_, net::error::operation_aborted);
}

}  // namespace
}  // namespace fetchbench
