#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/async_file.h"
#include "common/net.h"
#include "coordinator/prepare/image_plan.h"
#include "coordinator/prepare/prepare_call.h"

namespace fetchbench::coordinator {

// "image from agent a: 12 of 55 MB"; without an end when `of_bytes` is 0. Pure.
std::string TransferText(const std::string& from, uint64_t bytes, uint64_t of_bytes);

// At most docker::kMaxImageBytes, in a file without a name: it takes disk as long as somebody holds
// it, and is gone with the process, however that ends.
struct ImageArchive {
  AsyncFile file;
  std::string from;  // the agent that handed it out
};

// Fetches the image of one architecture from an agent that has it, once, when somebody needs it.
// On the loop; must outlive its calls.
class ImageCourier {
 public:
  // `archive`: fetched before, by another courier; null: it has to be fetched.
  ImageCourier(const FleetCall& call, ImagePlan& plan,
               std::shared_ptr<const ImageArchive> archive = nullptr)
      : call_(call),
        plan_(plan),
        archive_(std::move(archive)),
        begun_(archive_ != nullptr),
        done_(begun_) {}

  // The archive, for agent `receiver`, which is told meanwhile how far it is. FailedPrecondition:
  // no agent hands it out. Cancelled: the user gave up.
  Task<absl::StatusOr<std::shared_ptr<const ImageArchive>>> Get(size_t receiver);

  // Null: nobody needed it, or no agent handed it out.
  const std::shared_ptr<const ImageArchive>& archive() const { return archive_; }
  // Somebody needed it, and no agent handed it out.
  bool lost() const { return done_ && archive_ == nullptr; }

 private:
  Task<> FetchFromAny();
  Task<absl::Status> Fetch(size_t holder, ImageArchive& archive);

  const FleetCall& call_;
  ImagePlan& plan_;
  std::shared_ptr<const ImageArchive> archive_;
  absl::Status trouble_;
  std::string progress_;
  bool begun_ = false;
  bool done_ = false;
};

}  // namespace fetchbench::coordinator
