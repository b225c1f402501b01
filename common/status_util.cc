#include "common/status_util.h"

#include <fmt/format.h>

#include <string>

namespace fetchbench {

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return {static_cast<absl::StatusCode>(status.error_code()), status.error_message()};
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

absl::Status FromErrno(int error, std::string_view what) {
  return absl::ErrnoToStatus(error, std::string(what));
}

absl::Status FromErrorCode(error_code error, std::string_view what) {
  if (!error) return absl::OkStatus();
  const boost::system::error_condition condition = error.default_error_condition();
  if (condition.category() == boost::system::generic_category()) {
    return FromErrno(condition.value(), what);
  }
  return absl::UnknownError(fmt::format("{}: {}", what, error.message()));
}

absl::Status EndOfStream() { return absl::OutOfRangeError("end of stream"); }

bool IsEndOfStream(const absl::Status& status) { return absl::IsOutOfRange(status); }

}  // namespace fetchbench
