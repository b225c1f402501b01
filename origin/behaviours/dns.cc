// What the resolver answers. Rows that a DnsPlan can say are data; the others write their messages.
#include "origin/dns_message.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <string>

#include "origin/behaviours/behaviour.h"
#include "origin/behaviours/steps.h"
#include "origin/world.h"

namespace fetchbench::origin {
namespace {

using std::chrono::seconds;

constexpr uint16_t kTypeCname = 5;
constexpr uint16_t kTypeAaaa = 28;
constexpr size_t kAnswerCountAt = 6;  // in the header (RFC 1035 section 4.1.1)
constexpr uint32_t kTtl = 300;

using Answers = std::vector<DnsAnswer>;

Answers One(std::string message) {
  Answers answers;
  answers.push_back({.message = std::move(message)});
  return answers;
}

// The reply as it should be: the first serving address to A, nothing to other types.
std::string GoodReply(const DnsAsked& asked) {
  DnsReply reply;
  reply.ttl_s = kTtl;
  if (asked.query.type == kTypeA) reply.addresses = {asked.addresses.serving.front()};
  return EncodeReply(asked.query, reply);
}

void Append16(std::string& out, size_t value) {
  out += static_cast<char>((value >> 8) & 0xff);
  out += static_cast<char>(value & 0xff);
}

std::string WireName(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const size_t dot = std::min(name.find('.'), name.size());
    out += static_cast<char>(dot);
    out += name.substr(0, dot);
    name.remove_prefix(std::min(dot + 1, name.size()));
  }
  out += '\0';
  return out;
}

// Adds a record to a reply that has no further sections.
void AddRecord(std::string& message, std::string_view owner, uint16_t type, std::string_view data) {
  message += WireName(owner);
  Append16(message, type);
  Append16(message, kClassIn);
  Append16(message, 0);
  Append16(message, kTtl);
  Append16(message, data.size());
  message += data;
  ++message[kAnswerCountAt + 1];
}

std::string WireAddress(uint32_t address) {
  std::string data;
  Append16(data, address >> 16);
  Append16(data, address & 0xffff);
  return data;
}

template <Rcode kRcode>
Answers AnswerCode(const DnsAsked& asked) {
  DnsReply reply;
  reply.rcode = kRcode;
  return One(EncodeReply(asked.query, reply));
}

std::string ForgedReply(const DnsAsked& asked) {
  DnsQuery query = asked.query;
  query.id ^= 0x5555;
  DnsReply reply;
  reply.ttl_s = kTtl;
  if (query.type == kTypeA) reply.addresses = {asked.addresses.refusing.front()};
  return EncodeReply(query, reply);
}

Answers AnswerForgedFirst(const DnsAsked& asked) {
  Answers answers = One(ForgedReply(asked));
  answers.push_back({.message = GoodReply(asked)});
  return answers;
}

Answers AnswerForgedOnly(const DnsAsked& asked) { return One(ForgedReply(asked)); }

Answers AnswerOtherQuestion(const DnsAsked& asked) {
  DnsQuery query = asked.query;
  query.question = WireName("other." + query.name);
  Append16(query.question, query.type);
  Append16(query.question, query.klass);
  DnsReply reply;
  reply.ttl_s = kTtl;
  reply.addresses = {asked.addresses.refusing.front()};
  return One(EncodeReply(query, reply));
}

Answers AnswerCnameChain(const DnsAsked& asked) {
  constexpr int kLinks = 8;
  std::string message = EncodeReply(asked.query, {});
  std::string owner = asked.query.name;
  for (int i = 1; i <= kLinks; ++i) {
    const std::string next = fmt::format("c{}.{}", i, asked.query.name);
    AddRecord(message, owner, kTypeCname, WireName(next));
    owner = next;
  }
  if (asked.query.type == kTypeA) {
    AddRecord(message, owner, kTypeA, WireAddress(asked.addresses.serving.front()));
  }
  return One(std::move(message));
}

Answers AnswerCnameLoop(const DnsAsked& asked) {
  const std::string& name = asked.query.name;
  std::string message = EncodeReply(asked.query, {});
  AddRecord(message, name, kTypeCname, WireName("loop." + name));
  AddRecord(message, "loop." + name, kTypeCname, WireName(name));
  return One(std::move(message));
}

Answers AnswerCnameAlone(const DnsAsked& asked) {
  std::string message = EncodeReply(asked.query, {});
  AddRecord(message, asked.query.name, kTypeCname, WireName("alone." + asked.query.name));
  return One(std::move(message));
}

// Too big for UDP without EDNS, so that a client must ask again over TCP.
Answers AnswerManyAddresses(const DnsAsked& asked) {
  constexpr size_t kMany = 40;
  DnsReply reply;
  reply.ttl_s = kTtl;
  const auto& serving = asked.addresses.serving;
  if (asked.query.type == kTypeA) {
    for (size_t i = 0; i < kMany; ++i) reply.addresses.push_back(serving[i % serving.size()]);
    reply.truncated = !asked.tcp;
  }
  return One(EncodeReply(asked.query, reply));
}

// ::1, where the origin does not listen.
Answers AnswerDeadIpv6(const DnsAsked& asked) {
  std::string message = GoodReply(asked);
  if (asked.query.type == kTypeAaaa) {
    std::string loopback(15, '\0');
    loopback.push_back('\1');
    AddRecord(message, asked.query.name, kTypeAaaa, loopback);
  }
  return One(std::move(message));
}

Answers AnswerNoAaaaServfail(const DnsAsked& asked) {
  if (asked.query.type == kTypeAaaa) return AnswerCode<Rcode::kServfail>(asked);
  return One(GoodReply(asked));
}

Answers AnswerNoAaaaSilent(const DnsAsked& asked) {
  if (asked.query.type == kTypeAaaa) return {};
  return One(GoodReply(asked));
}

// Cut in the middle of the record, for both families alike: clients that ask for both at once tell
// of the answer that comes first, and must not be told two things.
Answers AnswerCut(const DnsAsked& asked) {
  constexpr size_t kCut = 6;
  const bool ipv6 = asked.query.type == kTypeAaaa;
  std::string message = EncodeReply(asked.query, {});
  AddRecord(message, asked.query.name, asked.query.type,
            ipv6 ? std::string(16, '\1') : WireAddress(asked.addresses.serving.front()));
  message.resize(message.size() - kCut);
  return One(std::move(message));
}

Answers AnswerSlowlyOverTcp(const DnsAsked& asked) {
  constexpr std::chrono::milliseconds kLate{700};
  DnsReply truncated;
  truncated.truncated = true;
  if (!asked.tcp) return One(EncodeReply(asked.query, truncated));
  Answers answers = One(GoodReply(asked));
  answers.front().delay = kLate;
  return answers;
}

constexpr AddressKinds All3(AddressKind kind) { return {{kind, kind, kind}, 3}; }

constexpr std::array kTable = {
    ConformanceHost{.name = "dns-nxdomain", .dns = {.kind = DnsKind::kNxdomain}},
    ConformanceHost{.name = "dns-servfail", .dns = {.kind = DnsKind::kServfail}},
    ConformanceHost{.name = "dns-refused", .dns = {.kind = DnsKind::kRefused}},
    ConformanceHost{.name = "dns-formerr", .answer_dns = AnswerCode<Rcode::kFormErr>},
    ConformanceHost{.name = "dns-notimp", .answer_dns = AnswerCode<Rcode::kNotImp>},
    ConformanceHost{.name = "dns-no-address", .dns = {.kind = DnsKind::kEmpty}},
    ConformanceHost{.name = "dns-silent", .dns = {.kind = DnsKind::kSilent}},
    ConformanceHost{
        .name = "dns-answers-after-one-second", .dns = {.delay = seconds(1)}, .serve = ServeHello},
    ConformanceHost{.name = "dns-answers-after-the-deadline",
                    .dns = {.delay = seconds(20)},
                    .serve = ServeHello},
    ConformanceHost{
        .name = "dns-truncated-udp", .dns = {.truncate_udp = true}, .serve = ServeHello},
    ConformanceHost{
        .name = "dns-slow-over-tcp", .serve = ServeHello, .answer_dns = AnswerSlowlyOverTcp},
    ConformanceHost{
        .name = "dns-wrong-id-first", .serve = ServeHello, .answer_dns = AnswerForgedFirst},
    ConformanceHost{.name = "dns-wrong-id-only", .answer_dns = AnswerForgedOnly},
    ConformanceHost{.name = "dns-wrong-question", .answer_dns = AnswerOtherQuestion},
    ConformanceHost{.name = "dns-garbage", .answer_dns = AnswerCut},
    ConformanceHost{.name = "dns-cname-chain", .serve = ServeHello, .answer_dns = AnswerCnameChain},
    ConformanceHost{.name = "dns-cname-loop", .answer_dns = AnswerCnameLoop},
    ConformanceHost{.name = "dns-cname-without-address", .answer_dns = AnswerCnameAlone},
    ConformanceHost{
        .name = "dns-many-addresses", .serve = ServeHello, .answer_dns = AnswerManyAddresses},
    ConformanceHost{.name = "dns-dead-then-good-address",
                    .dns = {.addresses = kRefusingThenServing},
                    .serve = ServeHello},
    ConformanceHost{.name = "dns-black-hole-then-good-address",
                    .dns = {.addresses = kBlackHoleThenServing},
                    .serve = ServeHello},
    ConformanceHost{.name = "dns-only-dead-addresses",
                    .dns = {.addresses = All3(AddressKind::kRefusing)}},
    ConformanceHost{.name = "dns-only-black-hole-addresses",
                    .dns = {.addresses = All3(AddressKind::kBlackHole)}},
    ConformanceHost{
        .name = "dns-dead-ipv6-and-good-ipv4", .serve = ServeHello, .answer_dns = AnswerDeadIpv6},
    ConformanceHost{
        .name = "dns-aaaa-servfail", .serve = ServeHello, .answer_dns = AnswerNoAaaaServfail},
    ConformanceHost{
        .name = "dns-aaaa-silent", .serve = ServeHello, .answer_dns = AnswerNoAaaaSilent},
    ConformanceHost{.name = "dns-zero-ttl", .dns = {.ttl_s = 0}, .serve = ServeHello},
};

}  // namespace

std::span<const ConformanceHost> DnsBehaviours() { return kTable; }

}  // namespace fetchbench::origin
