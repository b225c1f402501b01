#include "coordinator/targets/build_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>

#include "common/files.h"
#include "coordinator/cli/suggest.h"

namespace fetchbench::coordinator {
namespace {

namespace json = boost::json;

std::string_view TakeWord(std::string_view& line) {
  constexpr std::string_view kBlank = " \t\r";
  const size_t begin = std::min(line.find_first_not_of(kBlank), line.size());
  const size_t end = std::min(line.find_first_of(kBlank, begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

bool IsArg(std::string_view word) {
  constexpr std::string_view kArg = "arg";
  return std::equal(word.begin(), word.end(), kArg.begin(), kArg.end(),
                    [](char a, char b) { return (a | 0x20) == b; });
}

// What stands behind ARG: "NAME" or "NAME=DEFAULT", in their order.
std::vector<std::string> ArgWords(std::string_view dockerfile) {
  std::vector<std::string> words;
  while (!dockerfile.empty()) {
    const size_t end = std::min(dockerfile.find('\n'), dockerfile.size());
    std::string_view line = dockerfile.substr(0, end);
    dockerfile.remove_prefix(std::min(end + 1, dockerfile.size()));
    if (!IsArg(TakeWord(line))) continue;
    for (std::string_view word = TakeWord(line); !word.empty(); word = TakeWord(line)) {
      words.emplace_back(word);
    }
  }
  return words;
}

}  // namespace

std::string BaseImagesFile(const Environment& env) {
  const auto given = env("FETCHBENCH_BASE_IMAGES");
  return given && !given->empty() ? *given : FETCHBENCH_SOURCE "/build/base-images.json";
}

absl::StatusOr<BuildArguments> ParseBaseImages(std::string_view text) {
  boost::system::error_code error;
  const json::value value = json::parse(json::string_view(text.data(), text.size()), error);
  if (error) return absl::InvalidArgumentError(fmt::format("no JSON: {}", error.message()));
  if (!value.is_object()) return absl::InvalidArgumentError("must hold an object");
  BuildArguments images;
  for (const auto& member : value.get_object()) {
    const std::string name(member.key());
    if (!member.value().is_string()) {
      return absl::InvalidArgumentError(fmt::format("{}: must be a text", name));
    }
    images[name] = std::string(member.value().get_string());
  }
  return images;
}

absl::StatusOr<BuildArguments> ReadBaseImages(const std::string& path, bool must_exist) {
  const absl::StatusOr<std::string> text = ReadTextFile(path);
  if (absl::IsNotFound(text.status()) && !must_exist) return BuildArguments();
  if (!text.ok()) {
    return absl::Status(text.status().code(),
                        fmt::format("base images: {}", std::string(text.status().message())));
  }
  auto images = ParseBaseImages(*text);
  if (images.ok()) return images;
  return absl::InvalidArgumentError(
      fmt::format("base images: {}: {}", path, std::string(images.status().message())));
}

std::vector<std::string> DeclaredArguments(std::string_view dockerfile) {
  std::vector<std::string> names;
  for (const std::string& word : ArgWords(dockerfile)) {
    std::string name = word.substr(0, word.find('='));
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> RegistryImages(std::string_view dockerfile) {
  std::vector<std::string> names;
  for (const std::string& word : ArgWords(dockerfile)) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || word.substr(equals + 1) == "scratch") continue;
    std::string name = word.substr(0, equals);
    if (name.ends_with("_IMAGE")) names.push_back(std::move(name));
  }
  return names;
}

absl::Status CheckBaseImages(const std::vector<std::string>& registry_images,
                             const BuildArguments& base_images, const BuildArguments& chosen,
                             const std::string& file) {
  if (base_images.empty()) return absl::OkStatus();
  std::vector<std::string> missing;
  for (const std::string& name : registry_images) {
    if (!chosen.contains(name)) missing.push_back(name);
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::NotFoundError(fmt::format(
      "there is no base image on this host for {}: {} names none, and `bin/base-images --list` "
      "tells which ones it can make. Name images that the Docker Engine has, in that file or with "
      "--build-arg NAME=IMAGE for each",
      fmt::join(missing, ", "), file));
}

absl::StatusOr<BuildArguments> ChooseArguments(const std::vector<std::string>& declared,
                                               const BuildArguments& base_images,
                                               const BuildArguments& given) {
  BuildArguments chosen;
  for (const std::string& name : declared) {
    if (const auto it = base_images.find(name); it != base_images.end()) chosen.insert(*it);
  }
  for (const auto& [name, value] : given) {
    if (std::find(declared.begin(), declared.end(), name) == declared.end()) {
      return absl::InvalidArgumentError(
          fmt::format("--build-arg {}: the Dockerfile has no such ARG{}; it has: {}", name,
                      DidYouMean(name, declared),
                      declared.empty() ? "none" : fmt::format("{}", fmt::join(declared, ", "))));
    }
    chosen[name] = value;
  }
  return chosen;
}

}  // namespace fetchbench::coordinator
