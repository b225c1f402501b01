#pragma once

#include <string>

namespace fetchbench {

// Names this boot of this machine's kernel (random(4): /proc/sys/kernel/random/boot_id), without
// dashes; empty when it cannot be read. Processes that have the same one, in containers too, have
// the same clock. Any thread.
std::string BootId();

}  // namespace fetchbench
