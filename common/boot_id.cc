#include "common/boot_id.h"

#include "common/files.h"

namespace fetchbench {

std::string BootId() {
  std::string text = ReadWholeFile("/proc/sys/kernel/random/boot_id");
  std::erase_if(text, [](char c) { return c == '-' || c == '\n'; });
  return text;
}

}  // namespace fetchbench
