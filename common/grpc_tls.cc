#include "common/grpc_tls.h"

#include <fmt/format.h>
#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/crypto.h>
#include <spdlog/spdlog.h>
#include <stdlib.h>

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/files.h"
#include "common/log_budget.h"
#include "common/status_util.h"

namespace fetchbench {
namespace {

namespace tls = grpc::experimental;

std::string TextOf(grpc::string_ref text) { return {text.data(), text.size()}; }

// Who is refused can come again as often as he likes.
void WarnWithin(LogBudget& budget, std::string_view what, const absl::Status& why) {
  const std::optional<std::string> left_out = budget.Allow(what, std::chrono::steady_clock::now());
  if (left_out) spdlog::warn("{}: {}{}", what, std::string(why.message()), *left_out);
}

// What gRPC asks once a handshake is through and the peer's chain leads to the CA.
class PeerVerifier final : public tls::ExternalCertificateVerifier {
 public:
  PeerVerifier(std::shared_ptr<const Credentials> credentials, Role role, std::string name)
      : credentials_(std::move(credentials)), role_(role), name_(std::move(name)) {}

  bool Verify(tls::TlsCustomVerificationCheckRequest* request,
              std::function<void(grpc::Status)> /*callback*/, grpc::Status* status) override {
    const absl::Status checked =
        credentials_->CheckPeer(TextOf(request->peer_cert()), role_, name_);
    // gRPC tells nobody on the server's side.
    if (!checked.ok() && role_ == Role::kOperator) {
      WarnWithin(budget_, "refused a connection", checked);
    }
    *status = ToGrpc(checked);
    return true;
  }

  void Cancel(tls::TlsCustomVerificationCheckRequest* /*request*/) override {}

 private:
  const std::shared_ptr<const Credentials> credentials_;
  const Role role_;
  const std::string name_;
  LogBudget budget_;
};

// What gRPC asks at each call.
class CallGuard final : public grpc::AuthMetadataProcessor {
 public:
  explicit CallGuard(std::shared_ptr<const Credentials> credentials)
      : credentials_(std::move(credentials)) {}

  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& /*metadata*/, grpc::AuthContext* context,
                       OutputMetadata* /*consumed*/, OutputMetadata* /*response*/) override {
    const auto shown = context->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
    absl::Status checked =
        shown.size() == 1
            ? credentials_->CheckPeer(TextOf(shown.front()), Role::kOperator, "")
            : absl::Status(absl::UnauthenticatedError("no certificate of an operator was shown"));
    if (checked.ok()) return grpc::Status::OK;
    WarnWithin(budget_, "refused a call", checked);
    return ToGrpc(checked);
  }

 private:
  const std::shared_ptr<const Credentials> credentials_;
  LogBudget budget_;
};

// It has a thread of its own that reads the files again.
std::shared_ptr<tls::CertificateProviderInterface> Watched(const Credentials& credentials) {
  return std::make_shared<tls::FileWatcherCertificateProvider>(
      credentials.KeyPath(), credentials.CertificatePath(), credentials.CaPath(), kRenewalSeconds);
}

std::shared_ptr<tls::CertificateProviderInterface> AsTheyAre(const Credentials& credentials) {
  const std::vector<tls::IdentityKeyCertPair> own{
      {ReadWholeFile(credentials.KeyPath()), ReadWholeFile(credentials.CertificatePath())}};
  return std::make_shared<tls::StaticDataCertificateProvider>(ReadWholeFile(credentials.CaPath()),
                                                              own);
}

void Watch(tls::TlsCredentialsOptions& options, std::shared_ptr<const Credentials> credentials,
           Role peer, std::string name) {
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_certificate_verifier(tls::ExternalCertificateVerifier::Create<PeerVerifier>(
      std::move(credentials), peer, std::move(name)));
}

}  // namespace

void RequireTls13() {
  // The list is for TLS 1.2 and older only, and needs one entry: this one works with a pre-shared
  // key, which neither side has.
  setenv("GRPC_SSL_CIPHER_SUITES", "ECDHE-PSK-CHACHA20-POLY1305", 1);
}

void KeepOpenSslUntilTheProcessIsGone() {
  // OPENSSL_init_crypto(3): without OPENSSL_cleanup at exit, if this is the first call.
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
}

std::shared_ptr<grpc::ServerCredentials> AgentServerCredentials(
    std::shared_ptr<const Credentials> credentials) {
  tls::TlsServerCredentialsOptions options(Watched(*credentials));
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  Watch(options, credentials, Role::kOperator, "");
  auto server = tls::TlsServerCredentials(options);
  server->SetAuthMetadataProcessor(std::make_shared<CallGuard>(std::move(credentials)));
  return server;
}

std::shared_ptr<grpc::ChannelCredentials> AgentChannelCredentials(
    std::shared_ptr<const Credentials> credentials, std::string host_name) {
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(AsTheyAre(*credentials));
  // The verifier compares the name: with the host's identity, not with what was dialled.
  options.set_check_call_host(false);
  Watch(options, std::move(credentials), Role::kHost, std::move(host_name));
  return tls::TlsCredentials(options);
}

}  // namespace fetchbench
