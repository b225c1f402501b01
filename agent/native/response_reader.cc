#include "agent/native/response_reader.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <utility>

#include "agent/native/errors.h"

namespace fetchbench::native {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::string_view kStart = "HTTP/1.";
constexpr size_t kBareStatusLine = 12;  // "HTTP/1.1 200"
constexpr size_t kLastChunk = 5;        // "0\r\n\r\n"
constexpr int kSwitchingProtocols = 101;

bool CanBeHttp(std::string_view data) {
  const size_t n = std::min(data.size(), kStart.size());
  return data.substr(0, n) == kStart.substr(0, n);
}

std::string_view WithoutCr(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// Beast would wait for the CRLF of such a chunk line for ever.
bool HasBareLf(std::string_view bytes) {
  for (size_t lf = bytes.find('\n'); lf != std::string_view::npos; lf = bytes.find('\n', lf + 1)) {
    if (lf == 0 || bytes[lf - 1] != '\r') return true;
  }
  return false;
}

// The header section as Beast wants it: CRLF everywhere, and a space after the status code.
std::string Normalized(std::string_view head) {
  std::string out;
  out.reserve(head.size() + head.size() / 16);
  bool first = true;
  while (!head.empty()) {
    const size_t end = head.find('\n');
    const std::string_view line = WithoutCr(head.substr(0, end));
    out += line;
    if (first && line.size() == kBareStatusLine) out += ' ';
    first = false;
    out += "\r\n";
    head.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace

ResponseReader::Parser::Parser(uint64_t max_body_bytes) : max_body_(max_body_bytes) {
  header_limit(2 * kHeaderLimit);  // the limit is kept by FeedHead
  body_limit(boost::none);         // and here
  eager(true);
}

void ResponseReader::Parser::on_response_impl(int code, string_view, int http_version,
                                              error_code& ec) {
  status = code;
  version = http_version;
  if (code < 100) ec = FetchErrc::kBadStatus;
}

void ResponseReader::Parser::on_field_impl(http::field name, string_view, string_view value,
                                           error_code&) {
  if (name != http::field::location || header_done_ || !location.empty()) return;
  location.assign(value.data(), value.size());
}

std::size_t ResponseReader::Parser::Count(string_view body, error_code& ec) {
  body_bytes += body.size();
  if (body_bytes > max_body_) ec = FetchErrc::kBodyTooLarge;
  return body.size();
}

std::size_t ResponseReader::Parser::on_body_impl(string_view body, error_code& ec) {
  return Count(body, ec);
}

void ResponseReader::Parser::on_chunk_header_impl(std::uint64_t, string_view extensions,
                                                  error_code& ec) {
  chunks_begun = true;
  // In a quoted string Beast lets line feeds pass.
  if (extensions.find('\n') != string_view::npos) ec = http::error::bad_chunk_extension;
}

std::size_t ResponseReader::Parser::on_chunk_body_impl(std::uint64_t, string_view body,
                                                       error_code& ec) {
  return Count(body, ec);
}

std::optional<uint64_t> ResponseReader::body_left() const {
  if (done()) return 0;
  const auto left = parser_->content_length_remaining();
  return left ? std::optional<uint64_t>(*left) : std::nullopt;
}

std::optional<size_t> ResponseReader::FindHeadEnd(std::string_view data) {
  while (true) {
    const size_t lf = data.find('\n', std::min(scan_.line, data.size()));
    if (lf == std::string_view::npos) return std::nullopt;
    const std::string_view raw = data.substr(scan_.line, lf - scan_.line);
    const std::string_view line = WithoutCr(raw);
    if (line.size() == raw.size()) scan_.bare_lf = true;
    if (scan_.line == 0 && line.size() == kBareStatusLine) scan_.bare_status = true;
    const bool empty = line.empty();
    const bool first = scan_.line == 0;
    scan_.line = lf + 1;
    if (empty && !first) return lf + 1;
  }
}

void ResponseReader::Feed(std::string_view bytes, error_code& ec) {
  ec = {};
  while (!bytes.empty() && state_ == State::kHead) {
    FeedHead(bytes, ec);
    if (ec) return;
  }
  if (!bytes.empty() && state_ == State::kBody) FeedBody(bytes, ec);
}

// Leaves in `bytes` what follows the header section.
void ResponseReader::FeedHead(std::string_view& bytes, error_code& ec) {
  const size_t before = pending_.size();
  std::string_view data = bytes;
  if (before != 0) {
    pending_ += bytes.substr(0, kHeaderLimit + 1 - std::min(before, kHeaderLimit));
    data = pending_;
  }
  if (!CanBeHttp(data)) {
    ec = FetchErrc::kNotHttp;
    return;
  }
  const auto end = FindHeadEnd(data);
  if (end.value_or(data.size()) > kHeaderLimit) {
    ec = FetchErrc::kHeaderTooLarge;
    return;
  }
  if (!end) {
    if (before == 0) pending_.assign(bytes);
    bytes = {};
    return;
  }
  ParseHead(data.substr(0, *end), ec);
  bytes.remove_prefix(*end - before);
  pending_.clear();
  scan_ = {};
}

void ResponseReader::ParseHead(std::string_view head, error_code& ec) {
  std::string normalized;
  if (scan_.bare_lf || scan_.bare_status) {
    normalized = Normalized(head);
    head = normalized;
  }
  parser_.emplace(max_body_);
  parser_->put(boost::asio::const_buffer(head.data(), head.size()), ec);
  if (ec == http::error::need_more) ec = http::error::bad_field;
  if (ec) return;
  if (parser_->status == kSwitchingProtocols) {
    ec = FetchErrc::kUnexpectedUpgrade;
  } else if (parser_->status < 200) {
    if (++interim_ > kMaxInterim) ec = FetchErrc::kTooManyInterim;
  } else if (parser_->content_length().value_or(0) > max_body_ && !parser_->is_done()) {
    ec = FetchErrc::kBodyTooLarge;
  } else {
    state_ = parser_->is_done() ? State::kDone : State::kBody;
  }
}

void ResponseReader::FeedBody(std::string_view bytes, error_code& ec) {
  std::string joined;
  if (!pending_.empty()) {
    joined = std::exchange(pending_, {});
    joined += bytes;
    // Beast asserts that it is not asked about the same last chunk again before all of it is there.
    // Only a first chunk line begins with its size, a later one with the CRLF of the chunk before.
    if (joined.size() < kLastChunk && joined[0] == '0' && !parser_->chunks_begun) {
      pending_ = std::move(joined);
      return;
    }
    bytes = joined;
  }
  while (!bytes.empty() && !parser_->is_done()) {
    const size_t n = parser_->put(boost::asio::const_buffer(bytes.data(), bytes.size()), ec);
    bytes.remove_prefix(n);
    if (ec == http::error::need_more) {
      ec = {};
      if (HasBareLf(bytes)) ec = http::error::bad_chunk;
      break;
    }
    if (ec) return;
  }
  if (ec) return;
  if (parser_->is_done()) {
    state_ = State::kDone;
    return;
  }
  if (bytes.size() > kChunkLineLimit) {
    ec = FetchErrc::kChunkTooLong;
    return;
  }
  pending_.assign(bytes);
}

void ResponseReader::Finish(const error_code& end, error_code& ec) {
  ec = {};
  if (state_ == State::kDone) return;
  if (state_ == State::kHead) {
    ec = FetchErrc::kClosed;
    return;
  }
  if (end != boost::asio::error::eof || !parser_->need_eof()) {
    ec = FetchErrc::kBodyTruncated;
    return;
  }
  state_ = State::kDone;
}

}  // namespace fetchbench::native
