#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/certificate.h"
#include "common/deny_list.h"

namespace fetchbench {

// A folder that bin/pki made, by which a program shows who it is and knows whom to trust:
//   ca.crt   the fleet's CA          tls.crt  this host's or operator's certificate
//   tls.key  its key, mode 0600      denied   serial numbers of certificates not to be trusted;
//                                             may be missing
// Any thread.
class Credentials {
 public:
  using WallClock = std::function<int64_t()>;  // seconds since 1970, UTC; called on any thread

  // Checks all that can be wrong with it: files that are missing, a key that others can read, that
  // is not the certificate's, a certificate that is not valid now, denied, or of another role. The
  // errors say what to do.
  static absl::StatusOr<std::shared_ptr<const Credentials>> Load(const std::string& folder,
                                                                 Role role);
  static absl::StatusOr<std::shared_ptr<const Credentials>> Load(const std::string& folder,
                                                                 Role role, WallClock clock);

  // Whether the certificate that a peer has shown, verified up to the CA already, is of this fleet,
  // of that role, of that name (empty: any), valid now and not denied. PermissionDenied or
  // FailedPrecondition: why not.
  absl::Status CheckPeer(const std::string& pem, Role role, const std::string& name) const;

  // As it was when it was loaded.
  const Certificate& own() const { return own_; }
  // When the certificate that is there now expires: it may have been renewed since. Seconds since
  // 1970, UTC. Reads a file.
  int64_t NotAfter() const;
  std::string CaPath() const { return folder_ + "/ca.crt"; }
  std::string CertificatePath() const { return folder_ + "/tls.crt"; }
  std::string KeyPath() const { return folder_ + "/tls.key"; }

 private:
  Credentials(std::string folder, Certificate own, std::unique_ptr<DenyList> denied,
              WallClock clock);

  const std::string folder_;
  const Certificate own_;
  const std::unique_ptr<DenyList> denied_;
  const WallClock clock_;
};

}  // namespace fetchbench
