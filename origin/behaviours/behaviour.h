#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/net.h"
#include "origin/exchange.h"
#include "origin/host_plan.h"

struct ssl_st;

// Named behaviours: the hosts <name>.conformance.test, written by hand instead of drawn from a
// profile, so that a test can meet one fault at a time.
namespace fetchbench::origin {

class CertificateStore;
struct AddressBook;
struct DnsQuery;

inline constexpr std::string_view kConformanceDomain = "conformance.test";

// One query as a behaviour sees it.
struct DnsAsked {
  const DnsQuery& query;
  bool tcp;
  const AddressBook& addresses;
};

// One message in reply, `delay` after the query; over TCP the length in front is added.
struct DnsAnswer {
  Micros delay{0};
  std::string message;
};

// One named behaviour. `serve` answers every request to the host, over http and https alike; a host
// whose DNS, address or TLS plan never lets a request through may leave it null. Tables of these
// are constants; `name` and what `serve` points to live for the whole program.
struct ConformanceHost {
  std::string_view name;  // the label before ".conformance.test": a-z, 0-9 and '-'
  DnsPlan dns{};          // with dns.addresses for the connect phase
  TlsPlan tls{};
  Task<> (*serve)(Exchange) = nullptr;

  // Replaces `dns` but for its addresses: the messages to send, none or several.
  std::vector<DnsAnswer> (*answer_dns)(const DnsAsked&) = nullptr;

  // Takes the place of `serve` and runs as soon as a plain connection to this host is accepted,
  // before anything is read of it; its request is empty but for the host.
  Task<> (*on_accept)(Exchange) = nullptr;

  // Called once the ClientHello is known and the certificate is set; false fails the handshake.
  bool (*prepare_tls)(ssl_st*, CertificateStore&) = nullptr;

  // Written in the clear in reply to the ClientHello, before tls.breaks happens.
  std::string_view hello_answer = {};
};

// The behaviour of that name, or null. Names with several labels are looked up by their last one:
// "a.redirect-loop.conformance.test" is "redirect-loop", so that one behaviour may use many hosts.
// `host` is in lower case; null for hosts outside kConformanceDomain.
const ConformanceHost* FindBehaviour(std::string_view host);

// The label that names the behaviour: "a.plain.conformance.test" -> "plain"; empty for hosts
// outside kConformanceDomain.
std::string_view BehaviourLabel(std::string_view host);

// Whether `host` belongs to the named behaviours at all (unknown ones do not exist in DNS).
bool IsConformanceHost(std::string_view host);

// All of them, for tests that compare them with data/behaviours.json.
std::span<const ConformanceHost* const> AllBehaviours();

// The tables, one a family and file.
std::span<const ConformanceHost> DnsBehaviours();
std::span<const ConformanceHost> ConnectBehaviours();
std::span<const ConformanceHost> TlsBehaviours();
std::span<const ConformanceHost> HeaderBehaviours();
std::span<const ConformanceHost> FramingBehaviours();
std::span<const ConformanceHost> BodyBehaviours();
std::span<const ConformanceHost> TimeoutBehaviours();
std::span<const ConformanceHost> RedirectBehaviours();

}  // namespace fetchbench::origin
