#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/input/url_chunk.h"

namespace fetchbench::coordinator {

// A chunk is written when it holds so many URLs or bytes.
inline constexpr size_t kChunkUrls = 128;
inline constexpr size_t kChunkBytes = 64 * 1024;
// All chunks being filled together hold at most about this; then every one of them is written.
inline constexpr size_t kMaxSpoolBufferBytes = size_t{32} << 20;

// The partition of a host: the same in every run, process and release.
uint32_t PartitionOf(std::string_view lower_case_host);

// The run's URL list on disk, by partition, so that a list of any length needs the same memory.
//
// Written once by one thread (Add ... Finish), then read by one thread (Take). The file is a header
// and chunks; a chunk tells where the chunk before it of the same partition starts, so memory holds
// one offset and one count a partition, and chunks of a partition come back last first. A later run
// of the program can Open the file to go on.
//
// Each chunk has a checksum of its header and one of its URLs: whoever reads a chunk learns that it
// is damaged, and no URL is asked of another host than the list named.
class UrlSpool {
 public:
  // Creates (or empties) the file. Errors name the path.
  static absl::StatusOr<std::unique_ptr<UrlSpool>> Create(const std::string& path);
  // Opens a finished file and counts what each partition holds, by the headers of its chunks.
  // DataLoss: it was cut off, or one of these is damaged. FailedPrecondition: another build wrote
  // it, in another form.
  static absl::StatusOr<std::unique_ptr<UrlSpool>> Open(const std::string& path);
  ~UrlSpool();
  UrlSpool(const UrlSpool&) = delete;
  UrlSpool& operator=(const UrlSpool&) = delete;

  absl::Status Add(uint64_t index, std::string_view url, std::string_view lower_case_host);
  // Writes what is buffered, so that it lasts through a power cut; no Add afterwards.
  absl::Status Finish();

  // Calls `visit` for every URL of the file, chunk by chunk in the order of writing, whatever Take
  // has returned. Of a finished file. DataLoss: a chunk is damaged; those before it were visited.
  using Visitor = std::function<void(uint32_t partition, uint64_t index, std::string_view url)>;
  absl::Status VisitAll(const Visitor& visit) const;

  // DataLoss that names the file.
  absl::Status Damaged(std::string_view how) const;

  // URLs of each partition that Take has not returned yet.
  const std::vector<uint64_t>& remaining() const { return remaining_; }
  // The next chunk of a partition; null when it has none left. DataLoss: it is damaged.
  absl::StatusOr<std::shared_ptr<const UrlChunk>> Take(uint32_t partition);

 private:
  UrlSpool(int fd, std::string path);

  absl::Status FlushChunk(uint32_t partition);
  absl::Status FlushAll();
  absl::Status WriteOut();
  absl::Status ScanChunks();
  absl::StatusOr<std::shared_ptr<UrlChunk>> ReadChunk(uint64_t offset, uint64_t& previous,
                                                      uint64_t& end) const;
  absl::Status ReadAt(uint64_t offset, char* to, size_t size) const;

  int fd_;
  std::string path_;
  std::vector<UrlChunk> filling_;     // by partition, while writing
  std::vector<uint64_t> last_chunk_;  // by partition: offset of its newest chunk not taken; 0: none
  std::vector<uint64_t> remaining_;
  std::string out_;  // encoded and not yet written
  uint64_t out_offset_ = 0;
  size_t buffered_bytes_ = 0;
};

}  // namespace fetchbench::coordinator
