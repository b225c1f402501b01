// A whole HTTP response through the path that a fetch reads it by. The first byte says in what
// pieces the rest comes and how the connection ends.
#include <boost/asio/error.hpp>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/native/error_map.h"
#include "agent/native/errors.h"
#include "agent/native/response_reader.h"
#include "common/tls_stream.h"

namespace {

using boost::system::error_code;
using fetchbench::Outcome;
using fetchbench::native::FetchErrc;
using fetchbench::native::OutcomeOf;
using fetchbench::native::Phase;
using fetchbench::native::ResponseReader;

constexpr uint64_t kMaxBody = 10'000;

struct Result {
  Outcome outcome = Outcome::kStatus;
  int status = 0;
  uint64_t body = 0;

  bool operator==(const Result&) const = default;
};

Result Read(std::string_view bytes, size_t piece, const error_code& end) {
  ResponseReader reader(kMaxBody);
  error_code ec;
  while (!bytes.empty() && !reader.done() && !ec) {
    reader.Feed(bytes.substr(0, piece), ec);
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  if (!ec && !reader.done()) reader.Finish(end, ec);
  if (!ec && !reader.done()) std::abort();
  if (!ec && (reader.status() < 200 || reader.status() > 999)) std::abort();
  if (!ec && reader.body_bytes() > kMaxBody) std::abort();
  Result result;
  result.status = reader.head_done() ? reader.status() : 0;
  if (!ec) result.body = reader.body_bytes();
  if (ec) result.outcome = OutcomeOf(reader.head_done() ? Phase::kBody : Phase::kHeaders, ec);
  if (result.outcome == Outcome::kClientError) std::abort();
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const error_code end =
      (data[0] & 0x80) != 0
          ? error_code(fetchbench::TlsErrc::kTruncated)
          : error_code(boost::asio::error::make_error_code(boost::asio::error::eof));
  const size_t piece = (data[0] & 0x7f) + 1U;
  const Result cut = Read(bytes, piece, end);
  const Result whole = Read(bytes, bytes.size() + 1, end);
  // How the bytes were cut must not matter for a response that is fine.
  if ((cut.outcome == Outcome::kStatus || whole.outcome == Outcome::kStatus) && cut != whole) {
    std::abort();
  }
  return 0;
}
