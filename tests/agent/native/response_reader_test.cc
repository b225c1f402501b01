#include "agent/native/response_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <utility>
#include <vector>

#include "agent/native/error_map.h"
#include "agent/native/errors.h"
#include "common/tls_stream.h"

namespace fetchbench::native {
namespace {

using boost::system::error_code;

struct Read {
  error_code error;
  bool done = false;
  int status = 0;
  uint64_t body = 0;
  std::string location;
  bool keep_alive = false;
  Outcome outcome = Outcome::kStatus;
};

// The response in pieces of `piece` bytes, then `end` if it is not over by then.
Read ReadAll(std::string_view bytes, size_t piece, uint64_t max_body = 1 << 20,
             error_code end = boost::asio::error::eof) {
  ResponseReader reader(max_body);
  Read out;
  while (!bytes.empty() && !reader.done() && !out.error) {
    reader.Feed(bytes.substr(0, piece), out.error);
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  if (!out.error && !reader.done()) reader.Finish(end, out.error);
  out.done = reader.done();
  out.body = reader.body_bytes();
  if (reader.head_done()) {
    out.status = reader.status();
    out.location = reader.location();
    out.keep_alive = reader.keep_alive();
  }
  if (out.error) {
    out.outcome = OutcomeOf(reader.head_done() ? Phase::kBody : Phase::kHeaders, out.error);
  }
  return out;
}

// The same for every way to cut it.
Read ReadEveryWay(const std::string& bytes, error_code end = boost::asio::error::eof) {
  const Read whole = ReadAll(bytes, bytes.size(), 1 << 20, end);
  for (const size_t piece : {1, 2, 3, 7, 64}) {
    const Read cut = ReadAll(bytes, piece, 1 << 20, end);
    EXPECT_EQ(cut.outcome, whole.outcome) << "in pieces of " << piece << ":\n" << bytes;
    EXPECT_EQ(cut.done, whole.done) << piece;
    EXPECT_EQ(cut.status, whole.status) << piece;
    EXPECT_EQ(cut.body, whole.body) << piece;
    EXPECT_EQ(cut.location, whole.location) << piece;
  }
  return whole;
}

void ExpectStatus(const std::string& bytes, int status, uint64_t body) {
  const Read read = ReadEveryWay(bytes);
  EXPECT_EQ(read.outcome, Outcome::kStatus) << read.error.message() << "\n" << bytes;
  EXPECT_EQ(read.status, status) << bytes;
  EXPECT_EQ(read.body, body) << bytes;
}

void ExpectFailure(const std::string& bytes, Outcome outcome) {
  const Read read = ReadEveryWay(bytes);
  EXPECT_EQ(OutcomeName(read.outcome), OutcomeName(outcome)) << bytes.substr(0, 200);
}

TEST(ResponseReaderTest, FramingByLengthByChunksAndByTheEnd) {
  ExpectStatus("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, 5);
  ExpectStatus("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more", 200, 5);
  ExpectStatus("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nmore", 200, 0);
  ExpectStatus("HTTP/1.1 200 OK\r\n\r\nhello", 200, 5);
  ExpectStatus("HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n", 200, 0);
  ExpectStatus(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n005;x=\"y\"\r\nhello\r\n0\r\n"
      "Trailer: x\r\nLocation: /no\r\n\r\n",
      200, 5);
  ExpectStatus("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200, 0);
}

TEST(ResponseReaderTest, StatusesWithoutABodyHaveNoneWhateverTheySay) {
  ExpectStatus("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", 204, 0);
  ExpectStatus("HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\nzz", 304, 0);
}

TEST(ResponseReaderTest, InterimResponsesAreSkipped) {
  ExpectStatus(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLocation: /x\r\n\r\n"
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
      200, 2);
  std::string endless;
  for (int i = 0; i < 100; ++i) endless += "HTTP/1.1 100 Continue\r\n\r\n";
  ExpectFailure(endless, Outcome::kResponseMalformed);
  ExpectFailure("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
                Outcome::kResponseMalformed);
}

TEST(ResponseReaderTest, HeadersAreReadAsCurlReadsThem) {
  ExpectStatus("HTTP/1.1 200 OK\nContent-Length: 2\nX: y\n\nok", 200, 2);
  ExpectStatus("HTTP/1.1 200 OK\r\nContent-Length: 2\nX: y\r\n\nok", 200, 2);
  ExpectStatus("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", 200, 2);
  ExpectStatus("HTTP/1.1 200\nContent-Length: 2\n\nok", 200, 2);
  ExpectStatus("HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok", 200, 2);
  ExpectStatus("HTTP/1.1 999 \xe9t\xe9\r\nContent-Length: 2\r\nX: \xe9\r\n\r\nok", 999, 2);
  ExpectStatus("HTTP/1.1 200 OK\r\nX: folded\r\n line\r\nContent-Length: 2\r\n\r\nok", 200, 2);
  ExpectStatus("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", 200, 2);
}

TEST(ResponseReaderTest, WhatIsNoHttp1IsMalformedAtOnce) {
  for (const char* bytes :
       {"SSH-2.0-x\r\n", "<html>", "ICY 200 OK\r\n\r\n", "HTTP/2 200\r\n\r\n",
        "HTTP/1.2 200 OK\r\n\r\n", "http/1.1 200 OK\r\n\r\n", "\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 099 x\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX : y\r\n\r\n", "HTTP/1.1 200 OK\r\n: y\r\n\r\n",
        "HTTP/1.1 200 OK\r\nHTTP/1.1 200 OK\r\n\r\n"}) {
    ExpectFailure(bytes, Outcome::kResponseMalformed);
  }
  // Without waiting for the end of a header section that will not come.
  ResponseReader reader(100);
  error_code ec;
  reader.Feed("SSH", ec);
  EXPECT_EQ(ec, FetchErrc::kNotHttp);
}

TEST(ResponseReaderTest, ContradictoryFramingIsMalformed) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  for (const char* fields :
       {"Content-Length: 12\r\nContent-Length: 13\r\n", "Content-Length: 12, 13\r\n",
        "Content-Length: twelve\r\n", "Content-Length: -1\r\n", "Content-Length: +1\r\n",
        "Content-Length:\r\n", "Content-Length: 99999999999999999999999\r\n",
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n"}) {
    ExpectFailure(head + fields + "\r\nok", Outcome::kResponseMalformed);
  }
  for (const char* chunks :
       {"xyz\r\n", "-1\r\nx", "\r\n\r\n", "fffffffffffffffff\r\n", "2\r\nokay\r\n0\r\n\r\n",
        "2\nok\n0\n\n", "2;x=\"a\nb\"\r\nok\r\n0\r\n\r\n"}) {
    ExpectFailure(head + "Transfer-Encoding: chunked\r\n\r\n" + chunks,
                  Outcome::kResponseMalformed);
  }
}

TEST(ResponseReaderTest, AnEarlyEndIsTruncationInTheBodyAndAResetBeforeIt) {
  ExpectFailure("", Outcome::kConnectionReset);
  ExpectFailure("HTTP/1.1 200 OK\r\nContent-", Outcome::kConnectionReset);
  ExpectFailure("HTTP/1.1 100 Continue\r\n\r\n", Outcome::kConnectionReset);
  ExpectFailure("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", Outcome::kBodyTruncated);
  ExpectFailure("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", Outcome::kBodyTruncated);
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char* rest : {"", "5", "5\r\n", "5\r\nhel", "5\r\nhello", "5\r\nhello\r\n",
                           "5\r\nhello\r\n0\r\n", "5\r\nhello\r\n0\r\nX: y\r\n"}) {
    ExpectFailure(chunked + rest, Outcome::kBodyTruncated);
  }
}

TEST(ResponseReaderTest, AChunkThatRunsOnIsMalformedHoweverItIsCut) {
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char* rest : {"1\r\n00003", "01;a\r\nx0003", "5\r\nhello0\r\n\r", "3\r\n00000x\r\n"}) {
    ExpectFailure(chunked + rest, Outcome::kResponseMalformed);
  }
}

TEST(ResponseReaderTest, ABodyThatIsCutOffCountsWhatCame) {
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string body = "01\r\n0\r\n0005\r\n00000\r\n2;a=b\r\n0\r\r\n00\r\n";
  const std::vector<std::pair<size_t, size_t>> data = {{4, 1}, {13, 5}, {27, 2}};
  for (size_t end = 0; end <= body.size(); ++end) {
    uint64_t came = 0;
    for (const auto& [at, size] : data) came += std::min(size, end - std::min(end, at));
    const Read read = ReadEveryWay(chunked + body.substr(0, end));
    EXPECT_EQ(read.outcome, Outcome::kBodyTruncated) << end;
    EXPECT_EQ(read.body, came) << end;
  }
}

TEST(ResponseReaderTest, ATlsEndWithoutNotifyCutsOnlyBodiesOfUnknownLength) {
  const error_code cut = TlsErrc::kTruncated;
  EXPECT_EQ(ReadEveryWay("HTTP/1.1 200 OK\r\n\r\nhello", cut).outcome, Outcome::kBodyTruncated);
  EXPECT_EQ(ReadEveryWay("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", cut).outcome,
            Outcome::kStatus);
}

TEST(ResponseReaderTest, HeadersBeyond64KibAreTooLarge) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  const std::string tail = "\r\nContent-Length: 2\r\n\r\nok";
  const size_t room = ResponseReader::kHeaderLimit - head.size() - tail.size() + 2 - 3;
  EXPECT_EQ(ReadAll(head + "X: " + std::string(room, 'x') + tail, 1000).outcome, Outcome::kStatus);
  EXPECT_EQ(ReadAll(head + "X: " + std::string(room + 1, 'x') + tail, 1000).outcome,
            Outcome::kHeaderTooLarge);
  EXPECT_EQ(ReadAll(head + "X: " + std::string(200'000, 'x'), 65'536).outcome,
            Outcome::kHeaderTooLarge);
  std::string many = head;
  while (many.size() < 200'000) many += "X: y\r\n";
  EXPECT_EQ(ReadAll(many, 65'536).outcome, Outcome::kHeaderTooLarge);
}

TEST(ResponseReaderTest, BodiesBeyondTheCapAreTooLarge) {
  const std::string body(1000, 'x');
  const std::string head = "HTTP/1.1 200 OK\r\n";
  EXPECT_EQ(ReadAll(head + "\r\n" + body, 100, 1000).outcome, Outcome::kStatus);
  EXPECT_EQ(ReadAll(head + "\r\n" + body, 100, 999).outcome, Outcome::kBodyTooLarge);
  EXPECT_EQ(ReadAll(head + "Content-Length: 1000\r\n\r\n", 100, 999).outcome,
            Outcome::kBodyTooLarge);
  EXPECT_EQ(ReadAll(head + "Transfer-Encoding: chunked\r\n\r\n3e8\r\n" + body, 100, 999).outcome,
            Outcome::kBodyTooLarge);
  EXPECT_EQ(ReadAll("HTTP/1.1 304 x\r\nContent-Length: 1000\r\n\r\n", 100, 999).outcome,
            Outcome::kStatus);
}

TEST(ResponseReaderTest, EndlessChunkLinesAndTrailersAreBounded) {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(ReadAll(head + "5;" + std::string(200'000, 'x'), 10'000).outcome,
            Outcome::kResponseMalformed);
  std::string trailers = head + "0\r\n";
  while (trailers.size() < 200'000) trailers += "X: y\r\n";
  EXPECT_EQ(ReadAll(trailers, 10'000).outcome, Outcome::kResponseMalformed);
}

TEST(ResponseReaderTest, TheFirstLocationCountsAndTrailersDoNot) {
  EXPECT_EQ(ReadEveryWay("HTTP/1.1 302 x\r\nlocation:  /a \r\nLocation: /b\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n0\r\nLocation: /c\r\n\r\n")
                .location,
            "/a");
  EXPECT_EQ(ReadEveryWay("HTTP/1.1 302 x\r\nContent-Length: 0\r\n\r\n").location, "");
}

TEST(ResponseReaderTest, KeepAliveIsWhatTheServerSays) {
  EXPECT_TRUE(ReadEveryWay("HTTP/1.1 200 x\r\nContent-Length: 0\r\n\r\n").keep_alive);
  EXPECT_FALSE(
      ReadEveryWay("HTTP/1.1 200 x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").keep_alive);
  EXPECT_FALSE(ReadEveryWay("HTTP/1.0 200 x\r\nContent-Length: 0\r\n\r\n").keep_alive);
  EXPECT_FALSE(ReadEveryWay("HTTP/1.1 200 x\r\n\r\n").keep_alive);
}

}  // namespace
}  // namespace fetchbench::native
