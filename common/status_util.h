#pragma once

#include <grpcpp/support/status.h>

#include <string_view>

#include "absl/status/status.h"
#include "common/net.h"

namespace fetchbench {

// The codes of absl and gRPC are the same numbers; only code and message travel.
absl::Status FromGrpc(const grpc::Status& status);
grpc::Status ToGrpc(const absl::Status& status);

// "WHAT: text of the error", with a code that fits; OK for no error.
absl::Status FromErrorCode(error_code error, std::string_view what);

// The same for an errno value.
absl::Status FromErrno(int error, std::string_view what);

// What a stream's Read returns after the last message of a stream that ended well: OUT_OF_RANGE.
// Our services never answer that code, so it cannot be mistaken for a peer's failure.
absl::Status EndOfStream();
bool IsEndOfStream(const absl::Status& status);

}  // namespace fetchbench
