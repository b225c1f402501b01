#include "agent/container/base_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

namespace fetchbench::agent {
namespace {

constexpr std::string_view kStep = "Step ";
constexpr std::string_view kResult = " ---> ";
constexpr const char* kLabel = "fetchbench.base.";
constexpr std::string_view kNothing = "-";  // a digest that is not there
constexpr size_t kMaxLabelBytes = 1'024;

std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

bool IsWord(const std::string& word, std::string_view upper) {
  return std::equal(word.begin(), word.end(), upper.begin(), upper.end(),
                    [](char a, char b) { return (a >= 'a' && a <= 'z' ? a - 32 : a) == b; });
}

void ReplaceAll(std::string& text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

std::string Unquoted(std::string text) {
  const bool quoted = text.size() >= 2 && text.front() == text.back() &&
                      (text.front() == '"' || text.front() == '\'');
  return quoted ? text.substr(1, text.size() - 2) : text;
}

bool IsHex(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

// "Step 3/9 : FROM ${GO_IMAGE} AS build", and of each step that has one its result, " ---> 0123".
void BaseImageReader::OnLine(std::string_view line) {
  if (line.starts_with(kStep)) {
    const size_t colon = line.find(" : ");
    from_.clear();
    if (colon != std::string_view::npos) OnStep(std::string(line.substr(colon + 3)));
    return;
  }
  if (from_.empty() || !line.starts_with(kResult)) return;
  const std::string id(line.substr(kResult.size()));
  // "Using cache" and "Running in" do not come after a FROM.
  const bool known = std::any_of(seen_.begin(), seen_.end(), [&](const BaseSeen& one) {
    return one.reference == from_ && one.id == id;
  });
  if (IsHex(id) && !known && seen_.size() < kMaxBaseImages) seen_.push_back({from_, id});
  from_.clear();
}

void BaseImageReader::OnStep(const std::string& instruction) {
  const std::vector<std::string> words = Words(instruction);
  if (words.size() < 2) return;
  if (IsWord(words[0], "ARG")) {
    const size_t equals = words[1].find('=');
    // What was given goes first, and an ARG without a default adds nothing.
    if (equals != std::string::npos) {
      arguments_.emplace(words[1].substr(0, equals), Unquoted(words[1].substr(equals + 1)));
    }
    return;
  }
  if (!IsWord(words[0], "FROM")) return;
  size_t at = 1;
  while (at + 1 < words.size() && words[at].starts_with("--")) ++at;  // --platform=...
  const std::string reference = WithArguments(words[at]);
  const bool stage = std::find(stages_.begin(), stages_.end(), reference) != stages_.end();
  if (!stage && reference != "scratch") from_ = reference;
  if (at + 2 < words.size() && IsWord(words[at + 1], "AS")) stages_.push_back(words[at + 2]);
}

std::string BaseImageReader::WithArguments(std::string text) const {
  // The longest name first, so that $IMAGE is not taken for the beginning of $IMAGES.
  for (auto it = arguments_.rbegin(); it != arguments_.rend(); ++it) {
    ReplaceAll(text, "${" + it->first + "}", it->second);
    ReplaceAll(text, "$" + it->first, it->second);
  }
  return text;
}

docker::Labels BaseImageLabels(const std::vector<v1::BaseImage>& bases) {
  docker::Labels labels;
  for (size_t i = 0; i < bases.size(); ++i) {
    const std::string& digest = bases[i].digest();
    labels[fmt::format("{}{:02}", kLabel, i)] =
        fmt::format("{} {} {}", bases[i].reference(), bases[i].image_id(),
                    digest.empty() ? std::string(kNothing) : digest);
  }
  return labels;
}

std::vector<v1::BaseImage> BaseImagesOf(const docker::Labels& labels) {
  std::vector<v1::BaseImage> bases;
  for (auto it = labels.lower_bound(kLabel); it != labels.end(); ++it) {
    if (!it->first.starts_with(kLabel) || bases.size() >= kMaxBaseImages) break;
    // Anybody can set a label.
    const std::vector<std::string> words = Words(it->second);
    if (words.size() != 3 || it->second.size() > kMaxLabelBytes) continue;
    v1::BaseImage base;
    base.set_reference(words[0]);
    base.set_image_id(words[1]);
    if (words[2] != kNothing) base.set_digest(words[2]);
    bases.push_back(std::move(base));
  }
  return bases;
}

v1::BaseImage BaseImageOf(const std::string& reference, const docker::ImageInfo& image) {
  v1::BaseImage base;
  base.set_reference(reference);
  base.set_image_id(image.id);
  // An image may have been pulled under several names, each with its digest; that of this name
  // first.
  const std::string name = reference.substr(0, reference.find('@'));
  const size_t colon = name.rfind(':');
  const bool tagged = colon != std::string::npos && name.find('/', colon) == std::string::npos;
  const std::string repository = tagged ? name.substr(0, colon) : name;
  for (const std::string& known : image.digests) {
    const size_t at = known.find('@');
    if (at == std::string::npos) continue;
    const bool same = known.substr(0, at) == repository;
    if (same || base.digest().empty()) base.set_digest(known.substr(at + 1));
    if (same) break;
  }
  return base;
}

}  // namespace fetchbench::agent
