#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fetchbench::coordinator {

// What a target is known to do differently from the request policy (lib/CONTRACT.md).
struct Deviation {
  std::vector<std::string> behaviours;  // names; a `*` at the end covers all that begin so
  std::vector<std::string> observed;    // status codes, outcomes, or words of the contract
  std::string why;
  std::string reference;   // public: an issue, a page of documentation
  bool sometimes = false;  // a race: it does not happen in every run
  std::string libc = {};   // holds only where the target's C library begins so; empty: everywhere
};

// A client program that can be measured.
struct TargetInfo {
  std::string name;      // "native", "rust/reqwest"
  std::string language;  // columns of the tables
  std::string method;
  // Requests in flight for each agent when nobody says otherwise: what the target is good at.
  uint32_t concurrency = 10;
  std::vector<std::string> aliases = {};  // other names that --target takes
  std::string folder = {};                // with its Dockerfile; empty: built into the programs
  std::vector<Deviation> deviations = {};
  // Built programs of ours that are added to the folder, each with its shared libraries.
  std::vector<std::string> stage = {};

  bool is_container() const { return !folder.empty(); }
};

}  // namespace fetchbench::coordinator
