#pragma once

#include <boost/system/error_code.hpp>
#include <cstdint>
#include <string_view>

#include "common/outcome.h"

namespace fetchbench::native {

// Where in a fetch something happened.
enum class Phase : uint8_t { kDns, kConnect, kTls, kRequest, kHeaders, kBody, kRedirect };

// "resolving", "connecting" ...: for messages.
std::string_view PhaseName(Phase phase);

// The one place that gives a failure its outcome. Pure. An error that means nothing in particular
// is kClientError, which a run should never show.
Outcome OutcomeOf(Phase phase, const boost::system::error_code& error);

// Out of descriptors or memory: this process cannot go on, and a record of it would be a lie about
// the server.
bool IsFatal(const boost::system::error_code& error);

}  // namespace fetchbench::native
