#pragma once

#include <memory>
#include <string>

namespace fetchbench::testing {

// What a certificate of a fleet says; by default a good one of a host.
struct FleetCertificate {
  std::string uri = "fetchbench://lab/host/h1";  // several: commas between
  std::string usage = "serverAuth,clientAuth";   // extended key usage; empty: none
  int from_days = -1;                            // valid from so many days from now
  int days = 30;                                 // until so many days from now
};

// A fleet's CA that lives in memory and writes credentials folders, also wrong ones: bin/pki makes
// only good ones. Not thread-safe.
class TestFleet {
 public:
  TestFleet();
  ~TestFleet();
  TestFleet(const TestFleet&) = delete;
  TestFleet& operator=(const TestFleet&) = delete;

  // Writes ca.crt, tls.crt and tls.key (0600) to `folder`, which is made; certificate and key anew.
  // What it returns is the serial number in hex.
  std::string Write(const std::string& folder, const FleetCertificate& certificate) const;
  // The certificate alone, for the key that is in the folder.
  std::string Renew(const std::string& folder, const FleetCertificate& certificate) const;

 private:
  struct Pair;
  std::unique_ptr<Pair> ca_;
};

}  // namespace fetchbench::testing
