#include "common/docker/context_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace fetchbench::docker {
namespace {

constexpr size_t kShownBytes = 200;

// A text field of a head: up to its first NUL.
std::string Text(std::string_view head, size_t at, size_t size) {
  const std::string_view field = head.substr(at, size);
  return std::string(field.substr(0, field.find('\0')));
}

// Octal digits, then NULs or blanks.
std::optional<uint64_t> Octal(std::string_view field) {
  const size_t digits = std::min(field.find_first_not_of("01234567"), field.size());
  if (digits == 0 || field.substr(digits).find_first_not_of(std::string_view("\0 ", 2)) !=
                         std::string_view::npos) {
    return std::nullopt;
  }
  uint64_t value = 0;
  std::from_chars(field.data(), field.data() + digits, value, 8);
  return value;
}

bool SumIsRight(std::string_view head) {
  constexpr size_t kSumAt = 148;
  constexpr size_t kSumBytes = 8;
  uint64_t sum = 0;
  for (size_t i = 0; i < head.size(); ++i) {
    const bool own = i >= kSumAt && i < kSumAt + kSumBytes;
    sum += own ? ' ' : static_cast<unsigned char>(head[i]);
  }
  return Octal(head.substr(kSumAt, kSumBytes)) == sum;
}

// The parts of a relative path are names: neither empty nor "." nor "..".
bool IsPlainPath(std::string_view path) {
  if (path.empty() || path.size() > kMaxContextPathBytes) return false;
  if (path.find('\0') != std::string_view::npos) return false;
  while (true) {
    const std::string_view part = path.substr(0, path.find('/'));
    if (part.empty() || part == "." || part == "..") return false;
    if (part.size() == path.size()) return true;
    path.remove_prefix(part.size() + 1);
  }
}

}  // namespace

absl::Status ContextCheck::Wrong(std::string_view path, std::string_view what) const {
  return absl::InvalidArgumentError(
      fmt::format("{}: '{}' {}", subject_, path.substr(0, kShownBytes), what));
}

const std::string* ContextCheck::Kept(const std::string& path) const {
  const auto found = kept_.find(path);
  return found != kept_.end() && found->second.came ? &found->second.content : nullptr;
}

absl::Status ContextCheck::Feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (skip_ > 0) {
      const uint64_t n = std::min<uint64_t>(skip_, bytes.size());
      const uint64_t kept = std::min(n, keep_left_);
      if (kept > 0) keeping_->content.append(bytes.substr(0, kept));
      keep_left_ -= kept;
      skip_ -= n;
      bytes.remove_prefix(n);
      continue;
    }
    if (part_ == Part::kPax) {
      const uint64_t n = std::min<uint64_t>(pax_left_, bytes.size());
      pax_.append(bytes.substr(0, n));
      bytes.remove_prefix(n);
      pax_left_ -= n;
      if (pax_left_ > 0) continue;
      if (absl::Status s = OnPax(); !s.ok()) return s;
      continue;
    }
    const size_t n = std::min(kBlock - block_.size(), bytes.size());
    block_.append(bytes.substr(0, n));
    bytes.remove_prefix(n);
    if (block_.size() < kBlock) continue;
    if (absl::Status s = OnHead(); !s.ok()) return s;
    block_.clear();
  }
  return absl::OkStatus();
}

absl::Status ContextCheck::End() const {
  if (part_ == Part::kAfterEnd && block_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(subject_ + ": the archive is cut short");
}

absl::Status ContextCheck::OnHead() {
  const bool zeros = block_.find_first_not_of('\0') == std::string::npos;
  if (zeros) {
    if (++zero_blocks_ >= 2) part_ = Part::kAfterEnd;
    return absl::OkStatus();
  }
  if (zero_blocks_ > 0) return Wrong("", "comes after the archive's end");
  constexpr size_t kNameBytes = 100;
  std::string path = next_path_.empty() ? Text(block_, 0, kNameBytes) : next_path_;
  const std::string link = next_link_.empty() ? Text(block_, 157, kNameBytes) : next_link_;
  const char type = block_[156];
  const std::optional<uint64_t> size = Octal(std::string_view(block_).substr(124, 12));
  const bool ustar = std::string_view(block_).substr(257, 8) == std::string_view("ustar\00000", 8);
  const bool prefixed = block_[345] != '\0';
  if (!SumIsRight(block_) || !size || !ustar || prefixed) {
    return Wrong(path, "has a head that is not in ustar format, or damaged");
  }
  // With pax records, so that they cannot come without end.
  if (++entries_ > 2 * kMaxContextEntries) {
    return absl::ResourceExhaustedError(
        fmt::format("{}: more than {} entries", subject_, kMaxContextEntries));
  }
  if (type == 'x') {
    if (*size == 0 || *size > kMaxPaxBytes) return Wrong(path, "is too long");
    if (!next_path_.empty() || !next_link_.empty()) return Wrong(path, "comes twice");
    pax_.clear();
    pax_left_ = *size;
    part_ = Part::kPax;
    return absl::OkStatus();
  }
  next_path_.clear();
  next_link_.clear();
  if (absl::Status s = OnContent(type, path, *size); !s.ok()) return s;
  return OnEntry(type, std::move(path), link);
}

absl::Status ContextCheck::OnContent(char type, const std::string& path, uint64_t size) {
  if (type != '0' && size != 0) return Wrong(path, "has content and is no file");
  skip_ = (size + kBlock - 1) / kBlock * kBlock;
  const auto wanted = type == '0' ? kept_.find(path) : kept_.end();
  if (wanted == kept_.end()) return absl::OkStatus();
  if (size > wanted->second.max_bytes) return Wrong(path, "is too large");
  keeping_ = &wanted->second;
  keeping_->came = true;
  keep_left_ = size;
  return absl::OkStatus();
}

// "LENGTH KEY=VALUE\n", of two keys only: any other could change what an unpacker makes of it.
absl::Status ContextCheck::OnPax() {
  std::string_view rest = pax_;
  while (!rest.empty()) {
    size_t length = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
    const auto digits = static_cast<size_t>(end - rest.data());
    if (error != std::errc() || length > rest.size() || length < digits + 2 ||
        rest[digits] != ' ' || rest[length - 1] != '\n') {
      return Wrong("pax", "has records that are malformed");
    }
    const std::string_view record = rest.substr(digits + 1, length - digits - 2);
    const size_t equals = record.find('=');
    const std::string_view key = record.substr(0, equals);
    std::string* value = key == "path" ? &next_path_ : key == "linkpath" ? &next_link_ : nullptr;
    if (equals == std::string_view::npos || value == nullptr || !value->empty()) {
      return Wrong(key, "is a pax record that is not taken");
    }
    *value = record.substr(equals + 1);
    rest.remove_prefix(length);
  }
  part_ = Part::kHead;
  skip_ = (kBlock - pax_.size() % kBlock) % kBlock;
  return absl::OkStatus();
}

absl::Status ContextCheck::OnEntry(char type, std::string path, const std::string& link) {
  if (type == '5' && path.ends_with('/')) path.pop_back();
  if (!IsPlainPath(path)) {
    return Wrong(path, "is not a path below it: relative, without '.', '..' and empty parts");
  }
  switch (type) {
    case '0':
      return AddPath(path, Kind::kFile);
    case '5':
      return AddPath(path, Kind::kFolder);
    case '2':
      if (absl::Status s = CheckLink(path, link); !s.ok()) return s;
      return AddPath(path, Kind::kLink);
    default:
      return Wrong(path, "is neither file, folder nor symbolic link");
  }
}

// No folder on the way to a link is one itself, so as many ".." as it is deep lead to the top at
// most, and what follows them goes down only, by way of links of which the same holds.
absl::Status ContextCheck::CheckLink(const std::string& path, const std::string& to) const {
  auto up = static_cast<size_t>(std::count(path.begin(), path.end(), '/'));
  std::string_view rest = to;
  while (rest.starts_with("../") || rest == "..") {
    if (up == 0) return Wrong(path, "is a link that leads out");
    --up;
    rest.remove_prefix(std::min<size_t>(rest.size(), 3));
  }
  const bool stays = rest.empty() ? !to.empty() : IsPlainPath(rest);
  return stays ? absl::OkStatus() : Wrong(path, "is a link that leads out, or may do so");
}

absl::Status ContextCheck::CheckBounds() const {
  if (paths_.size() <= kMaxContextEntries && path_bytes_ <= kMaxContextPathsBytes) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(fmt::format("{}: more than {} entries, or {} MiB of paths",
                                                  subject_, kMaxContextEntries,
                                                  kMaxContextPathsBytes >> 20));
}

// From the deepest one up, as far as they are new: those above a folder that is known are known
// too. An archive may name one deep folder as often as it has entries.
absl::Status ContextCheck::AddFoldersAbove(const std::string& path) {
  for (size_t slash = path.rfind('/'); slash != std::string::npos;
       slash = path.rfind('/', slash - 1)) {
    const auto [it, added] = paths_.try_emplace(path.substr(0, slash), Kind::kFolder);
    if (it->second != Kind::kFolder) return Wrong(path, "is below something that is no folder");
    if (!added) break;
    path_bytes_ += slash;
    if (absl::Status s = CheckBounds(); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status ContextCheck::AddPath(const std::string& path, Kind kind) {
  if (absl::Status s = AddFoldersAbove(path); !s.ok()) return s;
  const auto [it, added] = paths_.try_emplace(path, kind);
  if (added) path_bytes_ += path.size();
  const bool folder_again = it->second == Kind::kFolder && kind == Kind::kFolder;
  if (!added && !folder_again) return Wrong(path, "comes twice");
  return CheckBounds();
}

}  // namespace fetchbench::docker
