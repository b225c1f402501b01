// A URL and a Location value, parted by a newline: whatever comes out must be fit for a request
// line, a Host header and another round.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agent/native/address_policy.h"
#include "agent/native/url.h"

namespace {

using fetchbench::native::ParseUrl;
using fetchbench::native::Url;

bool Printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

void Check(const Url& url) {
  if (url.host.empty() || !Printable(url.host) || !Printable(url.HostHeader())) std::abort();
  if (url.target.empty() || url.target[0] != '/' || !Printable(url.target)) std::abort();
  if (url.literal) fetchbench::native::IsPublicAddress(*url.literal);
  const std::string text =
      std::string(url.https ? "https://" : "http://") + url.HostHeader() + url.target;
  const auto again = ParseUrl(text);
  if (!again.ok() || !SameOrigin(url, *again) || again->target != url.target) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t newline = std::min(text.find('\n'), text.size());
  const auto url = ParseUrl(text.substr(0, newline));
  if (!url.ok()) return 0;
  Check(*url);
  const auto next = ResolveLocation(*url, text.substr(std::min(newline + 1, text.size())));
  if (next.ok()) Check(*next);
  return 0;
}
