#pragma once

#include <string_view>

#include "agent/native/fetch_control.h"
#include "agent/native/fetch_env.h"
#include "common/record.h"

namespace fetchbench::native {

struct FetchResult {
  Record record;
  error_code fatal;  // set when this process cannot go on; the record then means nothing
};

// Fetches one URL, redirects included, and says what happened. Starts the clock and arms the
// deadline itself. `url` must stay valid until the task is over.
Task<FetchResult> Fetch(FetchEnv& env, FetchControl& control, std::string_view url);

}  // namespace fetchbench::native
