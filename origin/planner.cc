#include "origin/planner.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "origin/stable_hash.h"

namespace fetchbench::origin {
namespace {

// The draws of one site. Each has a name of its own, so that adding one never changes another.
class Draws {
 public:
  Draws(uint64_t seed, std::string_view site) : seed_(seed), site_(site) {}
  double Uniform(std::string_view purpose) const { return StableUniform(seed_, purpose, site_); }
  bool Happens(std::string_view purpose, double share) const { return Uniform(purpose) < share; }
  double Value(std::string_view purpose, const Distribution& d) const {
    return d.At(Uniform(purpose));
  }
  Micros Delay(std::string_view purpose, const Distribution& ms) const {
    return Micros(std::llround(Value(purpose, ms) * 1000));
  }

 private:
  uint64_t seed_;
  std::string_view site_;
};

struct FinalFate {
  std::optional<Fate> fate;  // none: the host answers with `status`
  int status = 200;
};

FinalFate DrawFate(const Profile& profile, const Draws& draws) {
  double rest = draws.Uniform("outcome");
  for (size_t i = 0; i < kFateCount; ++i) {
    if (rest < profile.fates[i]) return {static_cast<Fate>(i), 200};
    rest -= profile.fates[i];
  }
  for (const StatusShare& s : profile.statuses) {
    if (rest < s.share) return {std::nullopt, s.status};
    rest -= s.share;
  }
  return {};
}

void ApplyFate(Fate fate, HostPlan& plan) {
  switch (fate) {
    case Fate::kNxdomain:
      plan.dns.kind = DnsKind::kNxdomain;
      break;
    case Fate::kServfail:
      plan.dns.kind = DnsKind::kServfail;
      break;
    case Fate::kDnsSilent:
      plan.dns.kind = DnsKind::kSilent;
      break;
    case Fate::kConnectRefused:
      plan.dns.addresses = kOneRefusing;
      break;
    case Fate::kConnectBlackHole:
      plan.dns.addresses = kOneBlackHole;
      break;
    case Fate::kCertificateExpired:
      plan.tls.certificate = CertificateKind::kExpired;
      break;
    case Fate::kCertificateWrongHost:
      plan.tls.certificate = CertificateKind::kWrongHost;
      break;
    case Fate::kCertificateSelfSigned:
      plan.tls.certificate = CertificateKind::kSelfSigned;
      break;
    case Fate::kCertificateUnknownCa:
      plan.tls.certificate = CertificateKind::kUnknownCa;
      break;
    case Fate::kTlsReset:
      plan.tls.breaks = TlsBreak::kReset;
      break;
    case Fate::kTlsAlert:
      plan.tls.breaks = TlsBreak::kAlert;
      break;
    case Fate::kTlsSilent:
      plan.tls.breaks = TlsBreak::kSilent;
      break;
    case Fate::kResetBeforeHeaders:
      plan.http.breaks = HttpBreak::kReset;
      break;
    case Fate::kSilentBeforeHeaders:
      plan.http.breaks = HttpBreak::kSilent;
      break;
    case Fate::kResetInBody:
      plan.http.breaks = HttpBreak::kResetInBody;
      break;
    case Fate::kStallInBody:
      plan.http.breaks = HttpBreak::kStallInBody;
      break;
  }
}

// Whether "www." in front of it makes a plausible name: "example.com", "example.co.uk", but not
// "fonts.example.com".
bool IsRegisteredDomain(std::string_view host) {
  const auto dots = std::count(host.begin(), host.end(), '.');
  if (dots == 1) return true;
  if (dots != 2) return false;
  const size_t last = host.rfind('.');
  const size_t middle = host.rfind('.', last - 1);
  constexpr size_t kLongestCategory = 3;  // "com", "co", "org" ...
  return last - middle - 1 <= kLongestCategory && host.size() - last - 1 == 2;
}

RedirectKind DrawRedirect(const Profile& profile, const Draws& draws, std::string_view host) {
  double rest = draws.Uniform("redirect");
  if (rest < profile.redirect_to_http) return RedirectKind::kToHttp;
  rest -= profile.redirect_to_http;
  if (rest < profile.redirect_to_path) return RedirectKind::kToPath;
  if (IsRegisteredDomain(host) && draws.Happens("redirect-www", profile.redirect_to_www)) {
    return RedirectKind::kToWww;
  }
  return RedirectKind::kNone;
}

DnsPlan DrawDns(const Profile& profile, const Draws& draws) {
  DnsPlan dns;
  dns.delay = draws.Delay("dns-delay", profile.dns_delay_ms);
  dns.truncate_udp = draws.Happens("dns-truncated", profile.dns_truncated);
  dns.through_cname = draws.Happens("dns-cname", profile.dns_cname);
  dns.ttl_s = profile.dns_ttl_s;
  if (draws.Happens("dns-dead-address", profile.dns_dead_address_first)) {
    dns.addresses = kRefusingThenServing;
  }
  return dns;
}

TlsPlan DrawTls(const Profile& profile, const Draws& draws) {
  TlsPlan tls;
  tls.delay = draws.Delay("tls-delay", profile.tls_delay_ms);
  const double version = draws.Uniform("tls-version");
  if (version < profile.tls_only_12) {
    tls.versions = TlsVersions::kOnly12;
  } else if (version < profile.tls_only_12 + profile.tls_only_13) {
    tls.versions = TlsVersions::kOnly13;
  }
  tls.close_notify = !draws.Happens("tls-no-close-notify", profile.tls_no_close_notify);
  return tls;
}

void DrawBody(const Profile& profile, const Draws& draws, HttpPlan& http) {
  const double framing = draws.Uniform("framing");
  if (framing < profile.chunked) {
    http.framing = Framing::kChunked;
  } else if (framing < profile.chunked + profile.close_delimited) {
    http.framing = Framing::kClose;
  }
  http.keep_alive = !draws.Happens("keep-alive", profile.no_keep_alive);
  const bool ok = http.status / 100 == 2;
  const Distribution& sizes = ok ? profile.body_bytes : profile.error_body_bytes;
  http.body_bytes = static_cast<uint64_t>(std::llround(draws.Value("body-bytes", sizes)));
  if (http.status == 204 || http.status == 304) {
    http.body_bytes = 0;
    http.framing = Framing::kContentLength;
  }
  if (profile.bytes_per_second.max <= 0) return;
  double rate = std::max(1.0, draws.Value("body-rate", profile.bytes_per_second));
  if (profile.body_max_ms > 0) {
    rate = std::max(rate, static_cast<double>(http.body_bytes) * 1000 / profile.body_max_ms);
  }
  http.bytes_per_second = static_cast<uint64_t>(rate);
}

HttpPlan DrawHttp(const Profile& profile, const Draws& draws, int status, std::string_view host) {
  HttpPlan http;
  http.status = status;
  http.redirect = DrawRedirect(profile, draws, host);
  http.upgrade_http =
      http.redirect != RedirectKind::kToHttp && draws.Happens("upgrade-http", profile.upgrade_http);
  http.first_byte = draws.Delay("first-byte", profile.first_byte_ms);
  http.padding_bytes =
      static_cast<uint32_t>(std::llround(draws.Value("padding", profile.padding_bytes)));
  DrawBody(profile, draws, http);
  return http;
}

// The part of ExpectFetch before HTTP: how the connection fails, or kUnspecified.
Outcome ConnectionOutcome(const HostPlan& plan) {
  switch (plan.dns.kind) {
    case DnsKind::kAnswer:
      break;
    case DnsKind::kEmpty:
    case DnsKind::kNxdomain:
      return Outcome::kDnsNotFound;
    case DnsKind::kSilent:
      return Outcome::kDnsTimeout;
    case DnsKind::kServfail:
    case DnsKind::kRefused:
    case DnsKind::kMalformed:
      return Outcome::kDnsFailure;
  }
  if (plan.dns.addresses == kOneRefusing) return Outcome::kConnectRefused;
  if (plan.dns.addresses == kOneBlackHole) return Outcome::kConnectTimeout;
  switch (plan.tls.breaks) {
    case TlsBreak::kNone:
      break;
    case TlsBreak::kReset:
    case TlsBreak::kResetAfterFlight:
      return Outcome::kConnectionReset;
    default:
      return Outcome::kTlsHandshake;
  }
  return plan.tls.certificate == CertificateKind::kGood ? Outcome::kUnspecified
                                                        : Outcome::kTlsCertificate;
}

bool NeverEnds(const HostPlan& plan) {
  return plan.dns.kind == DnsKind::kSilent || plan.dns.addresses == kOneBlackHole ||
         plan.tls.breaks == TlsBreak::kSilent;
}

Outcome HttpOutcome(HttpBreak breaks) {
  switch (breaks) {
    case HttpBreak::kNone:
      return Outcome::kStatus;
    case HttpBreak::kSilent:
      return Outcome::kTimeoutBeforeHeaders;
    case HttpBreak::kStallInBody:
      return Outcome::kTimeoutInBody;
    case HttpBreak::kReset:
    case HttpBreak::kResetInBody:
      return Outcome::kConnectionReset;
  }
  return Outcome::kUnspecified;
}

Expectation ExpectResponse(const HostPlan& plan, Micros timeout) {
  const Micros connect = plan.dns.delay + plan.tls.delay;
  const HttpPlan& http = plan.http;
  Expectation e;
  e.duration = connect + http.first_byte;
  e.redirects = http.redirect == RedirectKind::kNone ? 0 : 1;
  if (http.redirect == RedirectKind::kToWww) e.duration += connect;
  // The same host again: no DNS, and TLS only where the connection was not kept.
  if (http.redirect == RedirectKind::kToPath && !http.keep_alive) e.duration += plan.tls.delay;
  if (e.redirects != 0) e.duration += http.first_byte;
  e.outcome = HttpOutcome(http.breaks);
  if (http.breaks == HttpBreak::kNone || http.breaks == HttpBreak::kStallInBody ||
      http.breaks == HttpBreak::kResetInBody) {
    e.status = http.status;
  }
  if (http.breaks == HttpBreak::kNone) e.duration += BodyTime(http);
  if (http.breaks == HttpBreak::kResetInBody) e.duration += BodyTime(http) / 2;
  if (http.breaks == HttpBreak::kSilent || http.breaks == HttpBreak::kStallInBody) {
    e.duration = timeout;
  }
  e.body_bytes = http.breaks == HttpBreak::kNone ? http.body_bytes : http.body_bytes / 2;
  if (e.duration >= timeout && http.breaks == HttpBreak::kNone) {
    e.outcome = e.duration - BodyTime(http) >= timeout ? Outcome::kTimeoutBeforeHeaders
                                                       : Outcome::kTimeoutInBody;
  }
  return e;
}

}  // namespace

std::string NormalHost(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  std::string normal(host);
  for (char& c : normal) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return normal;
}

std::string_view SiteOf(std::string_view host) {
  constexpr std::string_view kWww = "www.";
  // "www.com" is a site of its own.
  if (host.starts_with(kWww) && host.find('.', kWww.size()) != std::string_view::npos) {
    host.remove_prefix(kWww.size());
  }
  return host;
}

HostPlan PlanHost(const Profile& profile, uint64_t seed, std::string_view host) {
  const std::string_view site = SiteOf(host);
  const Draws draws(seed, site);
  HostPlan plan;
  plan.dns = DrawDns(profile, draws);
  if (std::find(profile.never_answer.begin(), profile.never_answer.end(), site) !=
      profile.never_answer.end()) {
    plan.dns.addresses = kOneBlackHole;
    return plan;
  }
  const FinalFate final_fate = DrawFate(profile, draws);
  plan.tls = DrawTls(profile, draws);
  plan.http = DrawHttp(profile, draws, final_fate.status, host);
  // Without either a length or a close_notify the end of a body cannot be told from a cut, and
  // clients differ in what they make of that: a named behaviour, not a fate of a profile's host.
  if (plan.http.framing == Framing::kClose) plan.tls.close_notify = true;
  if (final_fate.fate.has_value()) ApplyFate(*final_fate.fate, plan);
  return plan;
}

Micros BodyTime(const HttpPlan& plan) {
  if (plan.bytes_per_second == 0) return Micros(0);
  return Micros(std::llround(1e6 * static_cast<double>(plan.body_bytes) /
                             static_cast<double>(plan.bytes_per_second)));
}

Expectation ExpectFetch(const HostPlan& plan, Micros timeout) {
  const Outcome failure = ConnectionOutcome(plan);
  Expectation e;
  if (failure == Outcome::kUnspecified) {
    e = ExpectResponse(plan, timeout);
  } else {
    e.outcome = failure;
    const bool before_tls =
        failure == Outcome::kConnectRefused || plan.dns.kind != DnsKind::kAnswer;
    e.duration = plan.dns.delay + (before_tls ? Micros(0) : plan.tls.delay);
    if (NeverEnds(plan)) e.duration = timeout;
  }
  e.duration = std::min(e.duration, timeout);
  return e;
}

}  // namespace fetchbench::origin
