#include "origin/origin.h"

#include <fmt/format.h>

#include <csignal>

namespace fetchbench::origin {

Origin::Origin(World world, CertificateStore certificates, SslContextPtr ssl_context,
               const Clock& clock, size_t max_connections)
    : world_(std::move(world)),
      certificates_(std::move(certificates)),
      ssl_context_(std::move(ssl_context)),
      log_(clock),
      open_(max_connections),
      dns_(io_, world_, stats_, log_),
      http_(io_, {world_, certificates_, ssl_context_.get(), stats_, log_, open_}),
      control_(io_, world_, certificates_, stats_, log_) {}

absl::StatusOr<std::unique_ptr<Origin>> Origin::Create(const Options& options, const Clock& clock) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes with write(2)
  auto addresses = MakeAddressBook(options);
  if (!addresses.ok()) return addresses.status();
  if (const absl::Status status = RaiseDescriptorLimit(DescriptorsNeeded(options, *addresses));
      !status.ok()) {
    return status;
  }
  auto profile = LoadProfile(options.profile, options.profiles_dir);
  if (!profile.ok()) return profile.status();
  auto certificates = CertificateStore::Create();
  if (!certificates.ok()) return certificates.status();
  auto ssl_context = MakeServerContext();
  if (!ssl_context.ok()) return ssl_context.status();
  std::unique_ptr<Origin> origin(new Origin(
      World(*std::move(profile), options.seed, *std::move(addresses)), *std::move(certificates),
      *std::move(ssl_context), clock, options.max_connections));
  if (const absl::Status status = origin->Listen(options); !status.ok()) return status;
  return origin;
}

absl::Status Origin::Listen(const Options& options) {
  const AddressBook& addresses = world_.addresses();
  const uint32_t dns_address =
      options.listen.empty() ? net::ip::address_v4::loopback().to_uint() : addresses.serving[0];
  if (const auto status = dns_.Listen(dns_address, options.dns_port); !status.ok()) return status;
  auto listeners = OpenListeners(io_, addresses.serving, addresses.black_hole, options.http_port,
                                 options.https_port);
  if (!listeners.ok()) return listeners.status();
  if (const auto status = control_.Listen(options.control); !status.ok()) return status;
  const auto dns = dns_.endpoint();
  Endpoints endpoints{fmt::format("{}:{}", dns.address().to_string(), dns.port()),
                      listeners->http_port, listeners->https_port};
  dns_.Start();
  http_.Start(*std::move(listeners));
  control_.Start(std::move(endpoints));
  return absl::OkStatus();
}

}  // namespace fetchbench::origin
