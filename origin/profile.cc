#include "origin/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <sstream>

#include "origin/json_fields.h"

namespace fetchbench::origin {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, kFateCount> kFateNames = {
    "nxdomain",
    "servfail",
    "dns_silent",
    "connect_refused",
    "connect_black_hole",
    "certificate_expired",
    "certificate_wrong_host",
    "certificate_self_signed",
    "certificate_unknown_ca",
    "tls_reset",
    "tls_alert",
    "tls_silent",
    "reset_before_headers",
    "silent_before_headers",
    "reset_in_body",
    "stall_in_body",
};

constexpr double kMaxMs = 600'000;
constexpr double kMaxBytes = 1e12;
constexpr size_t kMaxProfileFile = 1 << 20;

Distribution ReadDistribution(JsonFields& parent, std::string_view name, double limit) {
  JsonFields fields = parent.Object(name);
  Distribution d;
  d.median = fields.Number("median", 0, limit, 0);
  d.sigma = fields.Number("sigma", 0, 5, 0);
  d.min = fields.Number("min", 0, limit, 0);
  d.max = fields.Number("max", d.min, limit, std::max(d.min, d.sigma == 0 ? d.median : limit));
  parent.Merge(fields.Done());
  return d;
}

void ReadOutcomes(JsonFields& parent, Profile& profile) {
  JsonFields fields = parent.Object("outcomes");
  double sum = 0;
  for (size_t i = 0; i < kFateCount; ++i) {
    profile.fates[i] = fields.Share(kFateNames[i]);
    sum += profile.fates[i];
  }
  for (const std::string& name : fields.Names()) {
    int status = 0;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data(), end, status);
    if (error != std::errc() || stop != end || status < 200 || status > 599) continue;
    profile.statuses.push_back({status, fields.Share(name)});
    sum += profile.statuses.back().share;
  }
  std::sort(profile.statuses.begin(), profile.statuses.end(),
            [](const StatusShare& a, const StatusShare& b) { return a.status < b.status; });
  parent.Merge(fields.Done());
  constexpr double kRounding = 1e-9;
  if (sum > 1 + kRounding) parent.Fail("outcomes", fmt::format("shares sum to {}, above 1", sum));
}

void ReadDns(JsonFields& parent, Profile& profile) {
  JsonFields fields = parent.Object("dns");
  profile.dns_delay_ms = ReadDistribution(fields, "delay_ms", kMaxMs);
  profile.dns_truncated = fields.Share("truncated");
  profile.dns_cname = fields.Share("cname");
  profile.dns_dead_address_first = fields.Share("dead_address_first");
  profile.dns_ttl_s = static_cast<uint32_t>(fields.Number("ttl_s", 0, 86'400, 300));
  parent.Merge(fields.Done());
}

void ReadTls(JsonFields& parent, Profile& profile) {
  JsonFields fields = parent.Object("tls");
  profile.tls_delay_ms = ReadDistribution(fields, "delay_ms", kMaxMs);
  profile.tls_only_12 = fields.Share("only_1.2");
  profile.tls_only_13 = fields.Share("only_1.3");
  profile.tls_no_close_notify = fields.Share("no_close_notify");
  parent.Merge(fields.Done());
}

void ReadHttp(JsonFields& parent, Profile& profile) {
  JsonFields fields = parent.Object("http");
  profile.first_byte_ms = ReadDistribution(fields, "first_byte_ms", kMaxMs);
  profile.chunked = fields.Share("chunked");
  profile.close_delimited = fields.Share("close_delimited");
  profile.no_keep_alive = fields.Share("no_keep_alive");
  constexpr double kMaxPadding = 60'000;
  profile.padding_bytes = ReadDistribution(fields, "padding_bytes", kMaxPadding);
  parent.Merge(fields.Done());
}

void ReadRedirects(JsonFields& parent, Profile& profile) {
  JsonFields fields = parent.Object("redirects");
  profile.redirect_to_http = fields.Share("to_http");
  profile.redirect_to_www = fields.Share("to_www");
  profile.redirect_to_path = fields.Share("to_path");
  profile.upgrade_http = fields.Share("http_to_https");
  parent.Merge(fields.Done());
}

void ReadBody(JsonFields& parent, Profile& profile) {
  JsonFields fields = parent.Object("body");
  profile.body_bytes = ReadDistribution(fields, "bytes", kMaxBytes);
  profile.error_body_bytes = ReadDistribution(fields, "error_bytes", kMaxBytes);
  profile.bytes_per_second = ReadDistribution(fields, "bytes_per_second", kMaxBytes);
  profile.body_max_ms = fields.Number("max_ms", 0, kMaxMs, 0);
  parent.Merge(fields.Done());
}

std::string Sha256Hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string NamesIn(const std::string& dir) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(dir, error)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string_view FateName(Fate fate) { return kFateNames[static_cast<size_t>(fate)]; }

double Distribution::At(double u) const {
  if (sigma == 0) return std::clamp(median, min, max);
  const double z = std::numbers::sqrt2 * boost::math::erf_inv(2 * u - 1);
  return std::clamp(median * std::exp(sigma * z), min, max);
}

absl::StatusOr<Profile> ParseProfile(std::string_view text, std::string_view file) {
  boost::system::error_code error;
  json::parse_options options;
  options.allow_comments = true;
  const json::value value =
      json::parse(json::string_view(text.data(), text.size()), error, {}, options);
  if (error || !value.is_object()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: not a JSON object{}{}", file, error ? ": " : "", error.message()));
  }
  Profile profile;
  JsonFields fields(&value.get_object(), std::string(file));
  profile.name = fields.Text("name");
  fields.Text("about");
  ReadOutcomes(fields, profile);
  ReadDns(fields, profile);
  ReadTls(fields, profile);
  ReadHttp(fields, profile);
  ReadRedirects(fields, profile);
  ReadBody(fields, profile);
  profile.never_answer = fields.Texts("never_answer");
  profile.sha256 = Sha256Hex(text);
  if (profile.name.empty()) fields.Fail("name", "must be given");
  if (const absl::Status status = fields.Done(); !status.ok()) return status;
  return profile;
}

absl::StatusOr<Profile> LoadProfile(const std::string& name_or_file,
                                    const std::string& profiles_dir) {
  const bool is_file =
      name_or_file.find('/') != std::string::npos || name_or_file.ends_with(".json");
  const std::string path =
      is_file ? name_or_file : fmt::format("{}/{}.json", profiles_dir, name_or_file);
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    if (is_file) return absl::NotFoundError(fmt::format("profile {}: cannot be read", path));
    return absl::NotFoundError(fmt::format("no profile '{}' in {}; there are: {}", name_or_file,
                                           profiles_dir, NamesIn(profiles_dir)));
  }
  std::string text(kMaxProfileFile + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(stream.gcount()));
  if (text.size() > kMaxProfileFile) {
    return absl::InvalidArgumentError(
        fmt::format("profile {}: larger than {} bytes", path, kMaxProfileFile));
  }
  return ParseProfile(text, path);
}

}  // namespace fetchbench::origin
