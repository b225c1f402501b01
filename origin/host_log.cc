#include "origin/host_log.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "origin/behaviours/behaviour.h"

namespace fetchbench::origin {

namespace json = boost::json;

HostLog::Host* HostLog::Find(std::string_view host) {
  if (!IsConformanceHost(host)) return nullptr;
  const std::string key(host);
  if (const auto it = hosts_.find(key); it != hosts_.end()) return &it->second;
  return hosts_.size() < kMaxHosts ? &hosts_[key] : nullptr;
}

void HostLog::Query(std::string_view host) {
  if (Host* h = Find(host)) ++h->dns_queries;
}

void HostLog::Connected(std::string_view host) {
  if (Host* h = Find(host)) ++h->connections;
}

void HostLog::Requested(std::string_view host, const Request& request) {
  Host* h = Find(host);
  if (h == nullptr) return;
  if (h->requests.size() == kKept) h->requests.pop_front();
  h->requests.push_back({clock_.WallUs(), request});
}

void HostLog::Closed(std::string_view host) {
  Host* h = Find(host);
  if (h == nullptr) return;
  ++h->closes;
  if (h->closed_at_us.size() == kKept) h->closed_at_us.pop_front();
  h->closed_at_us.push_back(clock_.WallUs());
}

std::string HostLog::ToJson(std::string_view host) const {
  const auto it = hosts_.find(std::string(host));
  const Host none;
  const Host& h = it == hosts_.end() ? none : it->second;
  json::array requests;
  for (const Entry& entry : h.requests) {
    json::object headers;
    for (const auto& [name, value] : entry.request.headers) headers[name] = value;
    requests.push_back(json::object{{"method", entry.request.method},
                                    {"target", entry.request.target},
                                    {"headers", headers},
                                    {"at_us", entry.at_us}});
  }
  json::array closed;
  for (const int64_t at : h.closed_at_us) closed.push_back(at);
  return json::serialize(json::object{{"host", json::string_view(host.data(), host.size())},
                                      {"dns_queries", h.dns_queries},
                                      {"connections", h.connections},
                                      {"requests", requests},
                                      {"closes", h.closes},
                                      {"closed_at_us", closed}});
}

}  // namespace fetchbench::origin
