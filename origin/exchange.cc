#include "origin/exchange.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>

#include "origin/body.h"
#include "origin/connection.h"

namespace fetchbench::origin {
namespace {

Task<bool> WriteOwned(Connection* connection, std::string bytes) {
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
