#include "coordinator/fleet/peer_text.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <string>
#include <vector>

namespace fetchbench::coordinator {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string Bounded(std::string text, size_t most) {
  if (text.size() > most) {
    // Not in the middle of a character: a text of ours travels on as UTF-8.
    size_t end = most;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text.resize(end);
  }
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) c = '?';
  }
  // U+0080 to U+009F are control characters too.
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    const auto next = static_cast<unsigned char>(text[i + 1]);
    if (text[i] == '\xc2' && next < 0xa0) text.replace(i, 2, "?");
  }
  return text;
}

size_t MostBytes(const FieldDescriptor& field) {
  return field.name() == "target_stderr" ? kMaxPeerStderrBytes : kMaxPeerTextBytes;
}

void BoundOne(Message& message, const Reflection& reflection, const FieldDescriptor& field) {
  constexpr auto kMostSigned = static_cast<int64_t>(kMaxPeerNumber);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      reflection.SetString(&message, &field,
                           Bounded(reflection.GetString(message, &field), MostBytes(field)));
      return;
    case FieldDescriptor::CPPTYPE_UINT64:
      reflection.SetUInt64(&message, &field,
                           std::min(reflection.GetUInt64(message, &field), kMaxPeerNumber));
      return;
    case FieldDescriptor::CPPTYPE_INT64:
      reflection.SetInt64(
          &message, &field,
          std::clamp(reflection.GetInt64(message, &field), -kMostSigned, kMostSigned));
      return;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      BoundPeerMessage(*reflection.MutableMessage(&message, &field));
      return;
    default:
      return;  // 32 bits are within bounds
  }
}

void BoundList(Message& message, const Reflection& reflection, const FieldDescriptor& field) {
  const bool text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  const bool wide = field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64;  // ids, not kept
  while (!wide && reflection.FieldSize(message, &field) > kMaxPeerListEntries) {
    reflection.RemoveLast(&message, &field);
  }
  const bool messages = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field.is_map();
  for (int i = 0; messages && i < reflection.FieldSize(message, &field); ++i) {
    BoundPeerMessage(*reflection.MutableRepeatedMessage(&message, &field, i));
  }
  for (int i = 0; text && i < reflection.FieldSize(message, &field); ++i) {
    reflection.SetRepeatedString(
        &message, &field, i,
        Bounded(reflection.GetRepeatedString(message, &field, i), MostBytes(field)));
  }
}

}  // namespace

void BoundPeerMessage(Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->is_repeated()) {
      BoundList(message, reflection, *field);
    } else {
      BoundOne(message, reflection, *field);
    }
  }
  // What this version does not know is not looked at, and not kept either.
  reflection.MutableUnknownFields(&message)->Clear();
}

}  // namespace fetchbench::coordinator
