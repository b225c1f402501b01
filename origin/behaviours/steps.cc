#include "origin/behaviours/steps.h"

#include "origin/behaviours/canned.h"

namespace fetchbench::origin {

using std::chrono::seconds;

Task<> ServeHello(Exchange exchange) {
  exchange.KeepAlive();
  co_await exchange.Write(std::string(kHelloHead) + std::string(kHello));
}

Task<> Hold(Exchange exchange) { co_await exchange.WaitForPeerClose(Exchange::kMaxHold); }

Task<bool> Drip(Exchange exchange, std::string bytes, Micros pause) {
  for (const char c : bytes) {
    const bool sent = co_await exchange.Write(std::string(1, c));
    if (!sent) co_return false;
    co_await exchange.Sleep(pause);
  }
  co_return true;
}

Task<> Repeat(Exchange exchange, std::string piece, Micros pause, uint64_t times) {
  for (uint64_t i = 0; i < times; ++i) {
    const bool sent = co_await exchange.Write(piece);
    if (!sent) co_return;
    if (pause > Micros(0)) co_await exchange.Sleep(pause);
  }
}

Task<> ResetInBody(Exchange exchange) {
  co_await exchange.Write(std::string(kHelloHead) + "hello ");
  co_await exchange.Sleep(kLetItArrive);
  exchange.Reset();
}

Task<> DripBody(Exchange exchange) {
  co_await exchange.Write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
  co_await Drip(exchange, std::string(100, 'x'), seconds(1));
}

}  // namespace fetchbench::origin
