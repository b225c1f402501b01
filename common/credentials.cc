#include "common/credentials.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "common/files.h"

namespace fetchbench {
namespace {

int64_t SystemSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

absl::Status Unfit(const std::string& message) { return absl::FailedPreconditionError(message); }

// How to get a folder of credentials for that role.
std::string HowToMake(Role role) {
  return role == Role::kHost ? "make them with `bin/pki host NAME` and copy the folder to this host"
                             : "make them with `bin/pki init FLEET` (the first operator) or "
                               "`bin/pki operator NAME`";
}

absl::StatusOr<std::string> ReadPart(const std::string& path, Role role) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    return Unfit(
        fmt::format("credentials: {}: {}; {}", path, std::strerror(errno), HowToMake(role)));
  }
  std::string text = ReadWholeFile(path);
  if (text.empty()) return Unfit(fmt::format("credentials: {} is empty or unreadable", path));
  return text;
}

absl::Status CheckKeyMode(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    return Unfit(fmt::format("credentials: {}: {}", path, std::strerror(errno)));
  }
  if ((info.st_mode & 077U) == 0) return absl::OkStatus();
  return Unfit(fmt::format("credentials: {} can be read by others (mode {:04o}): chmod 600 {}",
                           path, info.st_mode & 07777U, path));
}

// What to do about a certificate of one's own that is of no use.
std::string HowToRenew(const Identity& identity) {
  return fmt::format("`bin/pki renew {}/{}` makes a new one", RoleName(identity.role),
                     identity.name);
}

absl::Status CheckOwn(const Certificate& own, Role role, const std::string& path, int64_t now) {
  if (own.identity.role != role) {
    return Unfit(
        fmt::format("credentials: {} is the certificate of {} {}, and {} is needed here; {}", path,
                    RoleName(own.identity.role), own.identity.name,
                    role == Role::kHost ? "a host's" : "an operator's", HowToMake(role)));
  }
  if (const absl::Status valid = CheckValidAt(own, now); !valid.ok()) {
    return Unfit(fmt::format("credentials: {}: {}; {}", path, std::string(valid.message()),
                             HowToRenew(own.identity)));
  }
  return absl::OkStatus();
}

}  // namespace

Credentials::Credentials(std::string folder, Certificate own, std::unique_ptr<DenyList> denied,
                         WallClock clock)
    : folder_(std::move(folder)),
      own_(std::move(own)),
      denied_(std::move(denied)),
      clock_(std::move(clock)) {}

absl::StatusOr<std::shared_ptr<const Credentials>> Credentials::Load(const std::string& folder,
                                                                     Role role) {
  return Load(folder, role, SystemSeconds);
}

absl::StatusOr<std::shared_ptr<const Credentials>> Credentials::Load(const std::string& folder,
                                                                     Role role, WallClock clock) {
  const std::string certificate_path = folder + "/tls.crt";
  const std::string key_path = folder + "/tls.key";
  if (auto ca = ReadPart(folder + "/ca.crt", role); !ca.ok()) return ca.status();
  const absl::StatusOr<std::string> certificate = ReadPart(certificate_path, role);
  if (!certificate.ok()) return certificate.status();
  const absl::StatusOr<std::string> key = ReadPart(key_path, role);
  if (!key.ok()) return key.status();
  if (absl::Status s = CheckKeyMode(key_path); !s.ok()) return s;
  absl::StatusOr<Certificate> own = ReadCertificate(*certificate);
  if (!own.ok()) {
    return Unfit(fmt::format("credentials: {}: {}; {}", certificate_path,
                             std::string(own.status().message()), HowToMake(role)));
  }
  if (const absl::Status s = CheckKeyOfCertificate(*key, *certificate); !s.ok()) {
    return Unfit(fmt::format("credentials: {}: {}; copy both files anew", key_path,
                             std::string(s.message())));
  }
  if (absl::Status s = CheckOwn(*own, role, certificate_path, clock()); !s.ok()) return s;
  absl::StatusOr<std::unique_ptr<DenyList>> denied = DenyList::Load(folder + "/denied");
  if (!denied.ok()) return denied.status();
  if ((*denied)->Contains(own->serial)) {
    return Unfit(
        fmt::format("credentials: {}: its serial number {} is denied; `bin/pki "
                    "{} {} --force` makes a new key and certificate",
                    certificate_path, own->serial, RoleName(role), own->identity.name));
  }
  return std::shared_ptr<const Credentials>(
      new Credentials(folder, *std::move(own), *std::move(denied), std::move(clock)));
}

int64_t Credentials::NotAfter() const {
  const absl::StatusOr<std::string> pem = ReadPart(CertificatePath(), own_.identity.role);
  if (!pem.ok()) return own_.not_after;
  const absl::StatusOr<Certificate> now = ReadCertificate(*pem);
  return now.ok() ? now->not_after : own_.not_after;
}

absl::Status Credentials::CheckPeer(const std::string& pem, Role role,
                                    const std::string& name) const {
  const auto denied = [](const std::string& why) { return absl::PermissionDeniedError(why); };
  const absl::StatusOr<Certificate> peer = ReadCertificate(pem);
  if (!peer.ok()) return denied(std::string(peer.status().message()));
  const Identity& identity = peer->identity;
  if (identity.fleet != own_.identity.fleet) {
    return denied(fmt::format("its certificate is of fleet {}, not of {}", identity.fleet,
                              own_.identity.fleet));
  }
  if (identity.role != role) {
    return denied(fmt::format("its certificate is that of {} {}; only {}'s is accepted here",
                              RoleName(identity.role), identity.name,
                              role == Role::kHost ? "a host" : "an operator"));
  }
  if (!name.empty() && identity.name != name) {
    return denied(
        fmt::format("its certificate is that of host {}, not of {}", identity.name, name));
  }
  const std::string who = fmt::format("the certificate of {} {}", RoleName(role), identity.name);
  if (const absl::Status valid = CheckValidAt(*peer, clock_()); !valid.ok()) {
    return absl::FailedPreconditionError(fmt::format("{}: {}", who, std::string(valid.message())));
  }
  if (denied_->Contains(peer->serial)) {
    return denied(fmt::format("{}, serial number {}, is denied", who, peer->serial));
  }
  return absl::OkStatus();
}

}  // namespace fetchbench
