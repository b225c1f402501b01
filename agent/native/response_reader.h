#pragma once

#include <boost/beast/http/basic_parser.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fetchbench::native {

// One HTTP/1 response to a GET, read from bytes that come in pieces of any size: skips interim
// responses, counts and drops the body. No I/O, so that tests and the fuzzer run the very path that
// a fetch runs.
//
// Framing and syntax are Beast's, which is strict; on top of that, as curl does: header lines may
// end in a bare LF, and the space after the status code may be missing. Refused as malformed,
// though curl takes some: no status line, another HTTP major or minor version than 1.0 and 1.1,
// header lines without a colon or with a blank before it, Content-Length beside Transfer-Encoding
// (RFC 9112 section 6.3: "ought to be handled as an error"), bare LF in chunk lines, 101.
class ResponseReader {
 public:
  static constexpr size_t kHeaderLimit = 64 * 1024;
  static constexpr int kMaxInterim = 16;
  static constexpr size_t kChunkLineLimit = 64 * 1024;  // trailers included

  explicit ResponseReader(uint64_t max_body) : max_body_(max_body) {}

  // Takes all of `bytes`; what follows the response is dropped. After an error, or once done(),
  // not to be called again.
  void Feed(std::string_view bytes, boost::system::error_code& ec);

  // The connection ended with `end`: asio::error::eof for a clean end, anything else for one that
  // may have cut something off. Clears `ec` when the response is complete by that.
  void Finish(const boost::system::error_code& end, boost::system::error_code& ec);

  bool head_done() const { return state_ != State::kHead; }
  bool done() const { return state_ == State::kDone; }

  // Valid once head_done().
  int status() const { return parser_ ? parser_->status : 0; }
  int version() const { return parser_ ? parser_->version : 0; }  // 10 or 11
  const std::string& location() const { return parser_->location; }
  bool keep_alive() const { return parser_->keep_alive(); }
  // Bytes of body that are still to come; nothing when only the peer knows.
  std::optional<uint64_t> body_left() const;

  uint64_t body_bytes() const { return parser_ ? parser_->body_bytes : 0; }

 private:
  enum class State : uint8_t { kHead, kBody, kDone };

  class Parser final : public boost::beast::http::basic_parser<false> {
   public:
    explicit Parser(uint64_t max_body_bytes);

    int status = 0;
    int version = 0;
    uint64_t body_bytes = 0;
    bool chunks_begun = false;
    std::string location;

   private:
    using error_code = boost::system::error_code;
    using string_view = boost::beast::string_view;

    void on_request_impl(boost::beast::http::verb, string_view, string_view, int,
                         error_code&) override {}
    void on_response_impl(int code, string_view reason, int http_version, error_code& ec) override;
    void on_field_impl(boost::beast::http::field name, string_view name_string, string_view value,
                       error_code& ec) override;
    void on_header_impl(error_code&) override { header_done_ = true; }
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    std::size_t on_body_impl(string_view body, error_code& ec) override;
    void on_chunk_header_impl(std::uint64_t size, string_view extensions, error_code& ec) override;
    std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code& ec) override;
    void on_finish_impl(error_code&) override {}

    std::size_t Count(string_view body, error_code& ec);

    uint64_t max_body_;
    bool header_done_ = false;
  };

  // What the scan for the end of a header section has seen.
  struct HeadScan {
    size_t line = 0;  // where the line that is not over yet begins
    bool bare_lf = false;
    bool bare_status = false;  // "HTTP/1.1 200" and nothing more
  };

  // The size of the header section at the start of `data`, or nothing when its end is not there.
  std::optional<size_t> FindHeadEnd(std::string_view data);
  void FeedHead(std::string_view& bytes, boost::system::error_code& ec);
  void ParseHead(std::string_view head, boost::system::error_code& ec);
  void FeedBody(std::string_view bytes, boost::system::error_code& ec);

  uint64_t max_body_;
  State state_ = State::kHead;
  int interim_ = 0;
  HeadScan scan_;
  std::string pending_;  // an unfinished header section or chunk line
  std::optional<Parser> parser_;
};

}  // namespace fetchbench::native
