#include "agent/native/hosts_file.h"

#include <algorithm>

#include "common/files.h"

namespace fetchbench::native {
namespace {

constexpr std::string_view kBlank = " \t\r";

std::string_view TakeWord(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlank));
  line.remove_prefix(word.size());
  return word;
}

std::string Lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

}  // namespace

HostsFile HostsFile::Load(const std::string& path) { return Parse(ReadWholeFile(path)); }

HostsFile HostsFile::Parse(std::string_view text) {
  HostsFile hosts;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, std::min(end, text.find('#')));
    text.remove_prefix(std::min(end + 1, text.size()));
    boost::system::error_code ec;
    const auto address = boost::asio::ip::make_address(std::string(TakeWord(line)), ec);
    if (ec) continue;
    for (std::string_view name = TakeWord(line); !name.empty(); name = TakeWord(line)) {
      hosts.names_[Lowered(name)].push_back(address);
    }
  }
  return hosts;
}

const std::vector<boost::asio::ip::address>* HostsFile::Find(const std::string& host) const {
  const auto it = names_.find(host);
  return it == names_.end() ? nullptr : &it->second;
}

bool IsLocalhost(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  return host == "localhost" || host.ends_with(".localhost");
}

std::vector<boost::asio::ip::address> LocalhostAddresses() {
  return {boost::asio::ip::address_v6::loopback(), boost::asio::ip::address_v4::loopback()};
}

}  // namespace fetchbench::native
