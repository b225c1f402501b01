#include "agent/host_gate.h"

#include <utility>

namespace fetchbench::agent {

std::string HostOf(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#\\"));
  if (const size_t at = url.rfind('@'); at != std::string_view::npos) url.remove_prefix(at + 1);
  if (url.starts_with('[')) {
    url = url.substr(1, url.find(']') - 1);
  } else {
    url = url.substr(0, url.find(':'));
  }
  std::string host(url);
  for (char& c : host) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return host;
}

bool HostGate::Enter(std::string_view url) {
  if (per_host_ == 0) return true;
  Host& host = hosts_[HostOf(url)];
  if (host.open >= per_host_) return false;
  ++host.open;
  return true;
}

void HostGate::HoldBack(LeasedUrl item) {
  ++held_back_;
  held_bytes_ += item.url.size();
  std::list<LeasedUrl>& held = hosts_[HostOf(item.url)].held;
  held.push_back(std::move(item));
}

std::optional<LeasedUrl> HostGate::Next() {
  if (ready_.empty()) return std::nullopt;
  LeasedUrl item = std::move(ready_.front());
  ready_.pop_front();
  return item;
}

void HostGate::Leave(std::string_view url) {
  if (per_host_ == 0) return;
  const auto it = hosts_.find(HostOf(url));
  if (it == hosts_.end()) return;
  Host& host = it->second;
  if (!host.held.empty()) {  // its place goes to the next of the same host
    --held_back_;
    held_bytes_ -= host.held.front().url.size();
    ready_.splice(ready_.end(), host.held, host.held.begin());
  } else if (--host.open == 0) {
    hosts_.erase(it);
  }
}

std::list<LeasedUrl> HostGate::TakeAll() {
  std::list<LeasedUrl> all;
  for (auto& [name, host] : hosts_) all.splice(all.end(), host.held);
  held_back_ = 0;
  held_bytes_ = 0;
  for (const LeasedUrl& item : ready_) Leave(item.url);
  all.splice(all.end(), ready_);
  return all;
}

}  // namespace fetchbench::agent
