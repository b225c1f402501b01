#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "origin/behaviours/behaviour.h"

// Behaviours that are nothing but data: one fixed answer to every request.
namespace fetchbench::origin {

inline constexpr std::string_view kHello = "hello world\n";  // body_bytes 12 in behaviours.json

// What happens to the connection once the answer is written. Holding is the strictest for a client:
// it must find the end of the message by itself.
enum class After : uint8_t { kHold, kClose, kReset, kKeepAlive };

struct Canned {
  std::string_view name;
  std::string_view status = "HTTP/1.1 200 OK";
  std::string_view lines = "";  // further header lines, each with its CRLF
  std::string_view body = kHello;
  bool length = true;         // a Content-Length of 12, whatever the body
  std::string_view raw = {};  // when not empty: the whole answer, in place of all of the above
  After after = After::kHold;
};

// Writes the answer and does what comes after it.
Task<> SendCanned(Exchange exchange, const Canned& canned);

// Answers with the row of kTable that the request's host names.
template <const auto& kTable>
Task<> ServeCanned(Exchange exchange) {
  const std::string_view label = BehaviourLabel(exchange.request().host);
  const auto row = std::ranges::find(kTable, label, &Canned::name);
  if (row != kTable.end()) co_await SendCanned(exchange, *row);
}

// The hosts of a table of canned answers.
template <const auto& kTable>
constexpr auto CannedHosts() {
  std::array<ConformanceHost, kTable.size()> hosts{};
  for (size_t i = 0; i < hosts.size(); ++i) {
    hosts[i].name = kTable[i].name;
    hosts[i].serve = ServeCanned<kTable>;
  }
  return hosts;
}

template <size_t N, size_t M>
constexpr std::array<ConformanceHost, N + M> Join(const std::array<ConformanceHost, N>& a,
                                                  const std::array<ConformanceHost, M>& b) {
  std::array<ConformanceHost, N + M> all{};
  std::ranges::copy(a, all.begin());
  std::ranges::copy(b, all.begin() + N);
  return all;
}

}  // namespace fetchbench::origin
