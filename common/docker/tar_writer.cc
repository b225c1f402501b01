#include "common/docker/tar_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace fetchbench::docker {
namespace {

constexpr size_t kBlock = 512;
constexpr unsigned kFileMode = 0644;
constexpr unsigned kProgramMode = 0755;
constexpr size_t kNameBytes = 100;

// The fields of a ustar head (POSIX.1-1988).
struct Field {
  size_t at;
  size_t size;
};
constexpr Field kName{0, kNameBytes};
constexpr Field kMode{100, 8};
constexpr Field kUid{108, 8};
constexpr Field kGid{116, 8};
constexpr Field kSize{124, 12};
constexpr Field kTime{136, 12};
constexpr Field kSum{148, 8};
constexpr Field kType{156, 1};
constexpr Field kLink{157, kNameBytes};
constexpr Field kMagic{257, 8};

using Head = std::array<char, kBlock>;

void Put(Head& head, Field field, std::string_view text) {
  std::memcpy(head.data() + field.at, text.data(), std::min(field.size, text.size()));
}

void PutNumber(Head& head, Field field, uint64_t value) {
  Put(head, field, fmt::format("{:0{}o}", value, field.size - 1));
}

Head MakeHead(std::string_view path, std::string_view link, char type, uint64_t size,
              unsigned mode) {
  Head head{};
  Put(head, kName, path);
  PutNumber(head, kMode, mode);
  PutNumber(head, kUid, 0);
  PutNumber(head, kGid, 0);
  PutNumber(head, kSize, size);
  PutNumber(head, kTime, 0);
  Put(head, kType, std::string_view(&type, 1));
  Put(head, kLink, link);
  Put(head, kMagic, std::string_view("ustar\00000", 8));
  // The sum is taken with blanks in its own place.
  Put(head, kSum, "        ");
  unsigned sum = 0;
  for (const char c : head) sum += static_cast<unsigned char>(c);
  Put(head, kSum, std::string_view(fmt::format("{:06o}", sum)).substr(0, 6));
  head[kSum.at + 6] = '\0';
  head[kSum.at + 7] = ' ';
  return head;
}

// "LENGTH KEY=VALUE\n", where the length counts itself.
std::string PaxRecord(std::string_view key, std::string_view value) {
  const size_t rest = key.size() + value.size() + 3;
  size_t length = rest + 1;
  while (fmt::formatted_size("{}", length) + rest != length) ++length;
  return fmt::format("{} {}={}\n", length, key, value);
}

}  // namespace

absl::Status TarWriter::PaxHeader(std::string_view path, std::string_view link) {
  std::string records;
  if (path.size() > kNameBytes) records += PaxRecord("path", path);
  if (link.size() > kNameBytes) records += PaxRecord("linkpath", link);
  if (records.empty()) return absl::OkStatus();
  const Head head = MakeHead("pax", "", 'x', records.size(), kFileMode);
  if (absl::Status s = out_({head.data(), head.size()}); !s.ok()) return s;
  if (absl::Status s = out_(records); !s.ok()) return s;
  return Pad(records.size());
}

absl::Status TarWriter::Header(std::string_view path, std::string_view link, char type,
                               uint64_t size, unsigned mode) {
  if (absl::Status s = PaxHeader(path, link); !s.ok()) return s;
  const Head head = MakeHead(path, link, type, size, mode);
  return out_({head.data(), head.size()});
}

absl::Status TarWriter::Pad(uint64_t size) {
  static constexpr std::array<char, kBlock> kZeros{};
  const size_t pad = (kBlock - size % kBlock) % kBlock;
  return pad == 0 ? absl::OkStatus() : out_({kZeros.data(), pad});
}

absl::Status TarWriter::AddFolder(std::string_view path) {
  return Header(fmt::format("{}/", path), "", '5', 0, kProgramMode);
}

absl::Status TarWriter::AddSymlink(std::string_view path, std::string_view to) {
  return Header(path, to, '2', 0, 0777);
}

absl::Status TarWriter::AddFile(std::string_view path, std::string_view content, bool executable) {
  if (absl::Status s = BeginFile(path, content.size(), executable); !s.ok()) return s;
  if (absl::Status s = AppendToFile(content); !s.ok()) return s;
  return EndFile();
}

absl::Status TarWriter::BeginFile(std::string_view path, uint64_t size, bool executable) {
  file_size_ = size;
  file_left_ = size;
  return Header(path, "", '0', size, executable ? kProgramMode : kFileMode);
}

absl::Status TarWriter::AppendToFile(std::string_view bytes) {
  if (bytes.size() > file_left_) {
    return absl::InvalidArgumentError("a file grew while it was packed: try again");
  }
  file_left_ -= bytes.size();
  return bytes.empty() ? absl::OkStatus() : out_(bytes);
}

absl::Status TarWriter::EndFile() {
  if (file_left_ != 0) {
    return absl::InvalidArgumentError("a file shrank while it was packed: try again");
  }
  return Pad(file_size_);
}

absl::Status TarWriter::Finish() {
  const std::string end(2 * kBlock, '\0');
  return out_(end);
}

absl::StatusOr<std::string> TarOfFile(std::string_view path, std::string_view content,
                                      bool executable) {
  std::string archive;
  TarWriter tar([&archive](std::string_view piece) {
    archive += piece;
    return absl::OkStatus();
  });
  absl::Status written = tar.AddFile(path, content, executable);
  if (written.ok()) written = tar.Finish();
  if (!written.ok()) return written;
  return archive;
}

}  // namespace fetchbench::docker
