#include "tests/support/loopback_dns.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace fetchbench::testing {
namespace {

constexpr int kPollMs = 20;
constexpr size_t kHeader = 12;
constexpr uint16_t kTypeA = 1;
constexpr uint16_t kTypeAaaa = 28;
constexpr int kServfail = 2;
constexpr int kNxDomain = 3;
constexpr int kRefused = 5;

void Append16(std::string& out, uint32_t value) {
  out += static_cast<char>(value >> 8 & 0xff);
  out += static_cast<char>(value & 0xff);
}

struct Question {
  std::string name;
  uint16_t type = 0;
  size_t end = 0;
};

Question ParseQuestion(const std::string& query) {
  Question question;
  size_t at = kHeader;
  while (at < query.size() && query[at] != 0) {
    const auto label = static_cast<size_t>(static_cast<unsigned char>(query[at]));
    if (!question.name.empty()) question.name += '.';
    question.name += query.substr(at + 1, label);
    at += label + 1;
  }
  if (at + 5 > query.size()) return {};
  question.type = static_cast<uint16_t>(static_cast<unsigned char>(query[at + 1]) << 8 |
                                        static_cast<unsigned char>(query[at + 2]));
  question.end = at + 5;
  return question;
}

std::string Header(const std::string& query, const Question& question, int rcode, size_t answers,
                   bool truncated) {
  std::string out = query.substr(0, 2);
  out += static_cast<char>(truncated ? 0x86 : 0x84);
  out += static_cast<char>(0x80 | rcode);
  Append16(out, 1);
  Append16(out, static_cast<uint32_t>(answers));
  Append16(out, 0);
  Append16(out, 0);
  return out + query.substr(kHeader, question.end - kHeader);
}

void AppendAddress(std::string& out, uint16_t type, uint32_t ttl, const std::string& text) {
  std::array<char, 16> bytes{};
  const int size = type == kTypeA ? 4 : 16;
  inet_pton(type == kTypeA ? AF_INET : AF_INET6, text.c_str(), bytes.data());
  Append16(out, 0xc00c);  // the question's name
  Append16(out, type);
  Append16(out, 1);
  Append16(out, ttl >> 16);
  Append16(out, ttl & 0xffff);
  Append16(out, static_cast<uint32_t>(size));
  out.append(bytes.data(), static_cast<size_t>(size));
}

}  // namespace

LoopbackDns::LoopbackDns(std::map<std::string, DnsScript> names) : names_(std::move(names)) {
  // The same port for UDP and TCP: a free one of the first may be taken for the second.
  for (int tries = 0; tries < 100; ++tries) {
    udp_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    tcp_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(name);
    auto* raw = reinterpret_cast<sockaddr*>(&name);
    if (bind(udp_, raw, size) == 0 && getsockname(udp_, raw, &size) == 0 &&
        bind(tcp_, raw, size) == 0 && listen(tcp_, SOMAXCONN) == 0) {
      port_ = ntohs(name.sin_port);
      thread_ = std::thread([this] { Serve(); });
      return;
    }
    close(udp_);
    close(tcp_);
  }
  std::abort();
}

LoopbackDns::~LoopbackDns() {
  stopping_ = true;
  thread_.join();
  close(udp_);
  close(tcp_);
}

std::string LoopbackDns::address() const { return "127.0.0.1:" + std::to_string(port_); }

void LoopbackDns::Serve() {
  while (!stopping_) {
    std::array<pollfd, 2> polled = {pollfd{udp_, POLLIN, 0}, pollfd{tcp_, POLLIN, 0}};
    if (poll(polled.data(), polled.size(), kPollMs) <= 0) continue;
    if (polled[1].revents != 0) AnswerTcp();
    if (polled[0].revents == 0) continue;
    std::array<char, 2048> buffer;  // NOLINT(*-member-init)
    sockaddr_in peer{};
    socklen_t size = sizeof(peer);
    auto* raw = reinterpret_cast<sockaddr*>(&peer);
    const ssize_t n = recvfrom(udp_, buffer.data(), buffer.size(), 0, raw, &size);
    if (n <= 0) continue;
    const std::string answer = Respond({buffer.data(), static_cast<size_t>(n)}, false);
    if (!answer.empty()) sendto(udp_, answer.data(), answer.size(), 0, raw, size);
  }
}

void LoopbackDns::AnswerTcp() {
  const int fd = accept4(tcp_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return;
  std::array<char, 2048> buffer;  // NOLINT(*-member-init)
  const ssize_t n = recv(fd, buffer.data(), buffer.size(), 0);
  if (n > 2) {
    const std::string answer = Respond({buffer.data() + 2, static_cast<size_t>(n) - 2}, true);
    std::string framed;
    Append16(framed, static_cast<uint32_t>(answer.size()));
    framed += answer;
    send(fd, framed.data(), framed.size(), MSG_NOSIGNAL);
  }
  close(fd);
}

std::string LoopbackDns::Respond(const std::string& query, bool tcp) {
  ++queries_;
  const Question question = ParseQuestion(query);
  const auto it = names_.find(question.name);
  if (it == names_.end()) return Header(query, question, kNxDomain, 0, false);
  DnsScript& script = it->second;
  if (script.drop_first > 0) {
    --script.drop_first;
    return {};
  }
  if (tcp) std::this_thread::sleep_for(script.tcp_delay);
  if (question.type == kTypeAaaa && script.aaaa_silent) return {};
  switch (script.kind) {
    case DnsScript::Kind::kSilent:
      return {};
    case DnsScript::Kind::kNxDomain:
      return Header(query, question, kNxDomain, 0, false);
    case DnsScript::Kind::kServfail:
      return Header(query, question, kServfail, 0, false);
    case DnsScript::Kind::kRefused:
      return Header(query, question, kRefused, 0, false);
    case DnsScript::Kind::kGarbage:
      return Header(query, question, 0, 3, false) + "\xc0\x0c\xff";
    case DnsScript::Kind::kTruncatedUdp:
      if (!tcp) return Header(query, question, 0, 0, true);
      break;
    case DnsScript::Kind::kAnswer:
      break;
  }
  const auto& addresses = question.type == kTypeA ? script.v4 : script.v6;
  std::string out = Header(query, question, 0, addresses.size(), false);
  for (const std::string& address : addresses) {
    AppendAddress(out, question.type, script.ttl, address);
  }
  return out;
}

}  // namespace fetchbench::testing
