#include "coordinator/input/url_spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>

namespace fetchbench::coordinator {
namespace {

constexpr std::string_view kFileMagic = "fetchbench-spool2";
// Which had no checksums.
constexpr std::string_view kFileMagicOfForm1 = "fetchbench-spool1";
constexpr uint32_t kChunkMagic = 0x4b4e4843;  // "CHNK"
constexpr size_t kWriteBytes = size_t{1} << 20;
// What one chunk can need at most: the bound it is written at plus one URL, and as much again for
// its numbers. Guards the reader against a damaged file.
constexpr uint32_t kMaxPayloadBytes = 4 * kChunkBytes + kChunkUrls * 24;

struct ChunkHeader {
  uint32_t magic;
  uint32_t partition;
  uint32_t count;
  uint32_t payload_bytes;
  uint64_t previous;  // offset of the chunk before it of this partition; 0: none
  uint32_t payload_checksum;
  uint32_t checksum;  // of what stands before it
};
static_assert(sizeof(ChunkHeader) == 32);

// The CRC-32 of RFC 1952.
uint32_t Checksum(std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

uint32_t ChecksumOf(const ChunkHeader& header) {
  std::array<char, offsetof(ChunkHeader, checksum)> raw{};
  std::memcpy(raw.data(), &header, raw.size());
  return Checksum({raw.data(), raw.size()});
}

absl::Status IoError(std::string_view what, const std::string& path) {
  return absl::UnavailableError(
      fmt::format("{} {}: {}", what, path, std::generic_category().message(errno)));
}

void AppendVarint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

bool ReadVarint(std::string_view& in, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in[0]);
    in.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

using RawHeader = std::array<char, sizeof(ChunkHeader)>;

// False: this is no sound header of a chunk at `offset`.
bool DecodeHeader(const RawHeader& raw, uint64_t offset, ChunkHeader& header) {
  std::memcpy(&header, raw.data(), sizeof(header));
  return header.magic == kChunkMagic && header.checksum == ChecksumOf(header) &&
         header.partition < kPartitions && header.payload_bytes <= kMaxPayloadBytes &&
         header.previous < offset;
}

void EncodeChunk(const UrlChunk& chunk, uint64_t previous, std::string& out) {
  const size_t start = out.size();
  out.append(sizeof(ChunkHeader), '\0');
  uint64_t last = 0;
  for (size_t i = 0; i < chunk.size(); ++i) {
    AppendVarint(out, chunk.indices[i] - last);  // indices of a chunk only grow
    last = chunk.indices[i];
    AppendVarint(out, chunk.Url(i).size());
  }
  out.append(chunk.text);
  const std::string_view payload = std::string_view(out).substr(start + sizeof(ChunkHeader));
  ChunkHeader header{.magic = kChunkMagic,
                     .partition = chunk.partition,
                     .count = static_cast<uint32_t>(chunk.size()),
                     .payload_bytes = static_cast<uint32_t>(payload.size()),
                     .previous = previous,
                     .payload_checksum = Checksum(payload),
                     .checksum = 0};
  header.checksum = ChecksumOf(header);
  std::memcpy(out.data() + start, &header, sizeof(header));
}

bool DecodeChunk(const ChunkHeader& header, std::string_view payload, UrlChunk& chunk) {
  chunk.partition = header.partition;
  uint64_t index = 0;
  uint64_t end = 0;
  for (uint32_t i = 0; i < header.count; ++i) {
    uint64_t delta = 0;
    uint64_t length = 0;
    if (!ReadVarint(payload, delta) || !ReadVarint(payload, length)) return false;
    index += delta;
    end += length;
    if (length > kMaxPayloadBytes) return false;
    chunk.indices.push_back(index);
    chunk.ends.push_back(static_cast<uint32_t>(end));
  }
  chunk.text.assign(payload);
  return end == payload.size();
}

}  // namespace

uint32_t PartitionOf(std::string_view lower_case_host) {
  // FNV-1a, then a finishing mix: FNV's high bits are poor for short texts.
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : lower_case_host) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccd;
  hash ^= hash >> 33;
  return static_cast<uint32_t>(hash % kPartitions);
}

UrlSpool::UrlSpool(int fd, std::string path)
    : fd_(fd), path_(std::move(path)), last_chunk_(kPartitions), remaining_(kPartitions) {}

UrlSpool::~UrlSpool() { close(fd_); }

absl::StatusOr<std::unique_ptr<UrlSpool>> UrlSpool::Create(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return IoError("cannot create", path);
  std::unique_ptr<UrlSpool> spool(new UrlSpool(fd, path));
  spool->filling_.resize(kPartitions);
  for (uint32_t p = 0; p < kPartitions; ++p) spool->filling_[p].partition = p;
  spool->out_ = kFileMagic;
  return spool;
}

absl::StatusOr<std::unique_ptr<UrlSpool>> UrlSpool::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return IoError("cannot open", path);
  std::unique_ptr<UrlSpool> spool(new UrlSpool(fd, path));
  if (absl::Status s = spool->ScanChunks(); !s.ok()) return s;
  return spool;
}

absl::Status UrlSpool::Add(uint64_t index, std::string_view url, std::string_view host) {
  const uint32_t partition = PartitionOf(host);
  UrlChunk& chunk = filling_[partition];
  chunk.Add(index, url);
  ++remaining_[partition];
  buffered_bytes_ += url.size();
  if (chunk.size() >= kChunkUrls || chunk.Bytes() >= kChunkBytes) return FlushChunk(partition);
  if (buffered_bytes_ >= kMaxSpoolBufferBytes) return FlushAll();
  return absl::OkStatus();
}

absl::Status UrlSpool::Finish() {
  if (absl::Status s = FlushAll(); !s.ok()) return s;
  if (absl::Status s = WriteOut(); !s.ok()) return s;
  if (fdatasync(fd_) != 0) return IoError("cannot write the URL list to", path_);
  filling_ = {};
  out_ = {};
  return absl::OkStatus();
}

absl::Status UrlSpool::FlushChunk(uint32_t partition) {
  UrlChunk& chunk = filling_[partition];
  const uint64_t offset = out_offset_ + out_.size();
  EncodeChunk(chunk, last_chunk_[partition], out_);
  last_chunk_[partition] = offset;
  buffered_bytes_ -= chunk.Bytes();
  chunk.Clear();
  return out_.size() >= kWriteBytes ? WriteOut() : absl::OkStatus();
}

absl::Status UrlSpool::FlushAll() {
  for (uint32_t p = 0; p < kPartitions; ++p) {
    if (filling_[p].size() == 0) continue;
    if (absl::Status s = FlushChunk(p); !s.ok()) return s;
    filling_[p] = UrlChunk{.partition = p, .indices = {}, .ends = {}, .text = {}};
  }
  return absl::OkStatus();
}

absl::Status UrlSpool::WriteOut() {
  std::string_view rest = out_;
  while (!rest.empty()) {
    const ssize_t n = write(fd_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return IoError("cannot write the URL list to", path_);
    rest.remove_prefix(static_cast<size_t>(n));
  }
  out_offset_ += out_.size();
  out_.clear();
  return absl::OkStatus();
}

absl::Status UrlSpool::Damaged(std::string_view how) const {
  return absl::DataLossError(fmt::format("{}: the file is damaged ({})", path_, how));
}

absl::Status UrlSpool::ReadAt(uint64_t offset, char* to, size_t size) const {
  while (size > 0) {
    const ssize_t n = pread(fd_, to, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return IoError("cannot read", path_);
    if (n == 0) return Damaged("it is cut off");
    to += n;
    size -= static_cast<size_t>(n);
    offset += static_cast<uint64_t>(n);
  }
  return absl::OkStatus();
}

// The chunk at `offset`; `previous`: of its partition, `end`: where the next one starts.
absl::StatusOr<std::shared_ptr<UrlChunk>> UrlSpool::ReadChunk(uint64_t offset, uint64_t& previous,
                                                              uint64_t& end) const {
  ChunkHeader header{};
  RawHeader raw{};
  if (absl::Status s = ReadAt(offset, raw.data(), raw.size()); !s.ok()) return s;
  const auto damaged = [&] { return Damaged(fmt::format("at byte {}", offset)); };
  if (!DecodeHeader(raw, offset, header)) return damaged();
  std::string payload(header.payload_bytes, '\0');
  if (absl::Status s = ReadAt(offset + sizeof(header), payload.data(), payload.size()); !s.ok()) {
    return s;
  }
  if (Checksum(payload) != header.payload_checksum) return damaged();
  auto chunk = std::make_shared<UrlChunk>();
  if (!DecodeChunk(header, payload, *chunk)) return damaged();
  previous = header.previous;
  end = offset + sizeof(header) + header.payload_bytes;
  return chunk;
}

absl::StatusOr<std::shared_ptr<const UrlChunk>> UrlSpool::Take(uint32_t partition) {
  const uint64_t offset = last_chunk_[partition];
  if (offset == 0) return nullptr;
  uint64_t previous = 0;
  uint64_t end = 0;
  auto chunk = ReadChunk(offset, previous, end);
  if (!chunk.ok()) return chunk.status();
  if ((*chunk)->partition != partition) {
    return Damaged(fmt::format("at byte {}", offset));
  }
  last_chunk_[partition] = previous;
  remaining_[partition] -= (*chunk)->size();
  return *std::move(chunk);
}

absl::Status UrlSpool::VisitAll(const Visitor& visit) const {
  const auto size = static_cast<uint64_t>(lseek(fd_, 0, SEEK_END));
  uint64_t offset = kFileMagic.size();
  while (offset < size) {
    uint64_t previous = 0;
    auto chunk = ReadChunk(offset, previous, offset);
    if (!chunk.ok()) return chunk.status();
    for (size_t i = 0; i < (*chunk)->size(); ++i) {
      visit((*chunk)->partition, (*chunk)->indices[i], (*chunk)->Url(i));
    }
  }
  return absl::OkStatus();
}

absl::Status UrlSpool::ScanChunks() {
  std::string magic(kFileMagic.size(), '\0');
  if (absl::Status s = ReadAt(0, magic.data(), magic.size()); !s.ok()) return s;
  if (magic == kFileMagicOfForm1) {
    return absl::FailedPreconditionError(
        fmt::format("{}: another build wrote it, in form 1, this is form 2: go on with the build "
                    "that it was begun with, or begin a new run",
                    path_));
  }
  if (magic != kFileMagic) {
    return Damaged("it is no list of a run");
  }
  const off_t size = lseek(fd_, 0, SEEK_END);
  uint64_t offset = magic.size();
  while (offset < static_cast<uint64_t>(size)) {
    ChunkHeader header{};
    RawHeader raw{};
    if (absl::Status s = ReadAt(offset, raw.data(), raw.size()); !s.ok()) return s;
    const bool sound = DecodeHeader(raw, offset, header);
    const uint64_t end = offset + sizeof(header) + header.payload_bytes;
    if (!sound || end > static_cast<uint64_t>(size)) {
      return Damaged(fmt::format("at byte {}, or it is cut off", offset));
    }
    last_chunk_[header.partition] = offset;
    remaining_[header.partition] += header.count;
    offset = end;
  }
  return absl::OkStatus();
}

}  // namespace fetchbench::coordinator
