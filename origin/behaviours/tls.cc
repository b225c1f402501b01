#include "origin/behaviours/behaviour.h"
namespace fetchbench::origin {
std::span<const ConformanceHost> TlsBehaviours() { return {}; }
}  // namespace fetchbench::origin
