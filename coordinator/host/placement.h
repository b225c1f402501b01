#pragma once

#include <string>
#include <vector>

namespace fetchbench::coordinator {

// Which CPUs the processes of a run on one machine use: the target alone on one, everything else on
// the others. Both empty: there is only one CPU, and nothing is pinned.
struct Placement {
  std::vector<int> target;
  std::vector<int> others;
};

// The last CPU for the target. Pure; `allowed` ascending.
Placement Place(const std::vector<int>& allowed);

// Both together, ascending. Pure.
std::vector<int> AllCpusOf(const Placement& placement);

// "0,2-3" for {0, 2, 3}. Pure.
std::string CpuListText(const std::vector<int>& cpus);

// CPUs that this process may use, ascending.
std::vector<int> AllowedCpus();

// Keeps the calling thread, and threads and processes it starts from now on, on `cpus` (if any).
void PinThisThread(const std::vector<int>& cpus);

// Raises the soft limit of open files to the hard one.
void RaiseFileLimit();

}  // namespace fetchbench::coordinator
