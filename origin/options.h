#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "origin/world.h"

namespace fetchbench::origin {

struct Options {
  std::string profile = "published";  // name, or a file
  std::string profiles_dir;           // where names are looked up
  uint64_t seed = 1;
  uint32_t addresses = 4'096;  // serving addresses, counted up from first_address
  std::string first_address = "127.64.0.1";
  std::vector<std::string> listen;                // serving addresses instead of the above
  std::string refusing_address = "127.80.0.1";    // nothing may listen there
  std::string black_hole_address = "127.81.0.1";  // must be this machine's
  uint16_t dns_port = 0;                          // 0: a free one
  uint16_t http_port = 0;
  uint16_t https_port = 0;
  std::string control = "127.0.0.1:0";
  uint32_t max_connections = 10'000;
  bool exit_with_parent = false;
  bool exit_at_eof = false;  // of standard input
  std::string log_level = "info";
  std::string log_format = "text";  // or "json"
};

// The addresses that the options name. InvalidArgument names the option.
absl::StatusOr<AddressBook> MakeAddressBook(const Options& options);

// What is wrong with an address book for clients on other machines, in words for a person; empty:
// nothing, or only this machine can be meant. Pure.
std::string ReachWarning(const AddressBook& addresses);

// Descriptors that the options need at most.
uint64_t DescriptorsNeeded(const Options& options, const AddressBook& addresses);

// Raises this process's descriptor limit to the hard limit. ResourceExhausted says what to lower
// when `needed` do not fit.
absl::Status RaiseDescriptorLimit(uint64_t needed);

// "127.0.0.1:80" -> address in host byte order and port.
struct HostPort {
  uint32_t address = 0;
  uint16_t port = 0;
};
absl::StatusOr<HostPort> ParseHostPort(const std::string& text);

}  // namespace fetchbench::origin
