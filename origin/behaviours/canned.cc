#include "origin/behaviours/canned.h"

#include <string>

#include "origin/behaviours/steps.h"

namespace fetchbench::origin {
namespace {

std::string Message(const Canned& canned) {
  if (!canned.raw.empty()) return std::string(canned.raw);
  std::string message(canned.status);
  message += "\r\n";
  message += canned.lines;
  if (canned.length) message += "Content-Length: 12\r\n";
  message += "\r\n";
  message += canned.body;
  return message;
}

}  // namespace

Task<> SendCanned(Exchange exchange, const Canned& canned) {
  if (canned.after == After::kKeepAlive) exchange.KeepAlive();
  const bool sent = co_await exchange.Write(Message(canned));
  if (!sent) co_return;
  if (canned.after == After::kHold) co_await Hold(exchange);
  if (canned.after == After::kReset) {
    co_await exchange.Sleep(kLetItArrive);
    exchange.Reset();
  }
}

}  // namespace fetchbench::origin
