#include "agent/dispatch.h"

#include <utility>

namespace fetchbench::agent {

void Dispatch(RunExecutor& executor, v1::CoordinatorMessage& message) {
  switch (message.kind_case()) {
    case v1::CoordinatorMessage::kLease:
      executor.AddLease(std::move(*message.mutable_lease()));
      return;
    case v1::CoordinatorMessage::kAck:
      executor.Ack(message.ack().seq());
      return;
    case v1::CoordinatorMessage::kCancel:
      executor.Cancel(message.cancel().reason());
      return;
    case v1::CoordinatorMessage::kFinish:
      executor.RequestFinish();
      return;
    case v1::CoordinatorMessage::kStart:
      executor.Fail(absl::InvalidArgumentError("Start came twice on one stream"));
      return;
    case v1::CoordinatorMessage::KIND_NOT_SET:
      executor.Fail(absl::InvalidArgumentError(
          "a message without content, or of a kind that this agent does not know"));
      return;
  }
}

}  // namespace fetchbench::agent
