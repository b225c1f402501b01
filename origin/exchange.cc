#include "origin/exchange.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <charconv>

#include "origin/body.h"
#include "origin/connection.h"

namespace fetchbench::origin {
namespace {

// Counts the response when the bytes start with a status line; a behaviour writes it at once.
void CountIfStatusLine(RunStats& stats, std::string_view bytes) {
  constexpr std::string_view kStart = "HTTP/1.";
  constexpr size_t kStatusAt = 9;  // "HTTP/1.1 200"
  if (!bytes.starts_with(kStart) || bytes.size() < kStatusAt + 3) return;
  int status = 0;
  const char* digits = bytes.data() + kStatusAt;
  const auto [end, error] = std::from_chars(digits, digits + 3, status);
  if (error == std::errc() && end == digits + 3) stats.CountResponse(status);
}

Task<bool> WriteOwned(Connection* connection, std::string bytes) {
  CountIfStatusLine(connection->context().stats, bytes);
  const bool ok = co_await connection->Write(bytes);
  co_return ok;
}

Task<bool> WriteManyPatterns(Connection* connection, uint64_t count) {
  PlainBody body(count);
  while (!body.done()) {
    const bool ok = co_await connection->Write(body.Next(kPatternSize));
    if (!ok) co_return false;
  }
  co_return true;
}

}  // namespace

std::string_view Request::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (boost::beast::iequals({key.data(), key.size()}, {name.data(), name.size()})) return value;
  }
  return {};
}

bool Exchange::tls() const { return connection_->is_tls(); }

Task<bool> Exchange::Write(std::string bytes) const {
  return WriteOwned(connection_, std::move(bytes));
}

Task<bool> Exchange::WritePattern(uint64_t count) const {
  return WriteManyPatterns(connection_, count);
}

Task<> Exchange::Sleep(Micros time) const {
  return connection_->Sleep(std::min<Micros>(time, kMaxHold));
}

void Exchange::Reset() const { connection_->Reset(); }
Task<> Exchange::Close(bool bare_fin) const { return connection_->Close(bare_fin); }
Task<> Exchange::HalfClose(bool bare_fin) const { return connection_->HalfClose(bare_fin); }

Task<bool> Exchange::WaitForPeerClose(Micros limit) const {
  return connection_->WaitForPeerClose(std::min<Micros>(limit, kMaxHold));
}

void Exchange::KeepAlive() const { connection_->keep_alive = true; }

}  // namespace fetchbench::origin
