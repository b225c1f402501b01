#include "origin/dns_message.h"

namespace fetchbench::origin {
namespace {

constexpr size_t kHeaderSize = 12;
constexpr size_t kMaxName = 255;
constexpr size_t kMaxLabel = 63;
constexpr uint16_t kPointerToQuestion = 0xc000 | kHeaderSize;
constexpr uint16_t kTypeCname = 5;
constexpr std::string_view kCnameLabel = "cname";

uint16_t Read16(std::span<const uint8_t> bytes, size_t at) {
  return static_cast<uint16_t>((bytes[at] << 8) | bytes[at + 1]);
}

void Append16(std::string& out, uint16_t value) {
  out += static_cast<char>(value >> 8);
  out += static_cast<char>(value & 0xff);
}

void Append32(std::string& out, uint32_t value) {
  Append16(out, static_cast<uint16_t>(value >> 16));
  Append16(out, static_cast<uint16_t>(value & 0xffff));
}

char Lower(uint8_t c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); }

// The offset behind the name that starts at `at`, or 0 when it is malformed. Compression cannot
// occur in a question, there being nothing before it to point at.
size_t ReadName(std::span<const uint8_t> message, size_t at, std::string& name) {
  const size_t start = at;
  name.clear();
  while (at < message.size()) {
    const size_t length = message[at++];
    if (length == 0) return at;
    if (length > kMaxLabel || at + length > message.size() || at + length - start > kMaxName) {
      return 0;
    }
    if (!name.empty()) name += '.';
    for (size_t i = 0; i < length; ++i) name += Lower(message[at + i]);
    at += length;
  }
  return 0;
}

void AppendRecord(std::string& out, uint16_t owner, uint16_t type, uint32_t ttl) {
  Append16(out, owner);
  Append16(out, type);
  Append16(out, kClassIn);
  Append32(out, ttl);
}

// Returns a pointer to the new name.
uint16_t AppendCname(std::string& out, uint32_t ttl) {
  AppendRecord(out, kPointerToQuestion, kTypeCname, ttl);
  Append16(out, static_cast<uint16_t>(1 + kCnameLabel.size() + 2));
  const auto target = static_cast<uint16_t>(0xc000 | out.size());
  out += static_cast<char>(kCnameLabel.size());
  out += kCnameLabel;
  Append16(out, kPointerToQuestion);
  return target;
}

}  // namespace

QueryCheck ParseQuery(std::span<const uint8_t> message, DnsQuery& query) {
  if (message.size() < kHeaderSize) return QueryCheck::kDrop;
  const uint16_t flags = Read16(message, 2);
  if ((flags & 0x8000) != 0) return QueryCheck::kDrop;
  query.id = Read16(message, 0);
  query.recursion_desired = (flags & 0x0100) != 0;
  query.question.clear();
  if ((flags & 0x7800) != 0) return QueryCheck::kNotImplemented;
  if (Read16(message, 4) != 1) return QueryCheck::kFormatError;
  const size_t end = ReadName(message, kHeaderSize, query.name);
  if (end == 0 || end + 4 > message.size()) return QueryCheck::kFormatError;
  query.type = Read16(message, end);
  query.klass = Read16(message, end + 2);
  const auto* first = reinterpret_cast<const char*>(message.data());
  query.question.assign(first + kHeaderSize, first + end + 4);
  return QueryCheck::kOk;
}

std::string EncodeReply(const DnsQuery& query, const DnsReply& reply) {
  std::string out;
  constexpr size_t kTypicalReply = 128;
  out.reserve(kTypicalReply);
  const bool has_answer = !reply.truncated && !reply.addresses.empty();
  const size_t answers = has_answer ? reply.addresses.size() + (reply.through_cname ? 1 : 0) : 0;
  uint16_t flags = 0x8480;  // a reply, authoritative, recursion available
  if (reply.truncated) flags |= 0x0200;
  if (query.recursion_desired) flags |= 0x0100;
  flags = static_cast<uint16_t>(flags | static_cast<uint16_t>(reply.rcode));
  Append16(out, query.id);
  Append16(out, flags);
  Append16(out, query.question.empty() ? 0 : 1);
  Append16(out, static_cast<uint16_t>(answers));
  Append32(out, 0);
  out += query.question;
  if (!has_answer) return out;
  const uint16_t owner = reply.through_cname ? AppendCname(out, reply.ttl_s) : kPointerToQuestion;
  for (const uint32_t address : reply.addresses) {
    AppendRecord(out, owner, kTypeA, reply.ttl_s);
    Append16(out, sizeof(address));
    Append32(out, address);
  }
  constexpr size_t kCut = 6;
  if (reply.cut) out.resize(out.size() - kCut);
  return out;
}

}  // namespace fetchbench::origin
