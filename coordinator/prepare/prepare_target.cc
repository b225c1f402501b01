#include "coordinator/prepare/prepare_target.h"

#include <utility>

#include "common/blocking.h"
#include "common/docker/context_tar.h"
#include "common/files.h"
#include "coordinator/host/child_process.h"
#include "coordinator/prepare/staged_folder.h"
#include "coordinator/targets/build_arguments.h"

namespace fetchbench::coordinator {
namespace {

absl::StatusOr<docker::ContextTar> PackFolder(const TargetInfo& target) {
  if (target.stage.empty()) return docker::PackContext(target.folder);
  const auto staged = StagedFolder::Make(target.folder, ProgramFolder(), target.stage);
  if (!staged.ok()) return staged.status();
  return docker::PackContext(staged->path());
}

absl::StatusOr<TargetPlan> PackTarget(const RunOptions& options) {
  TargetPlan plan;
  plan.spec.set_name(options.target.name);
  if (!options.target.is_container()) return plan;
  if (!options.image.empty()) {
    plan.spec.set_image(options.image);
    return plan;
  }
  const std::string dockerfile = options.target.folder + "/Dockerfile";
  if (absl::Status s = CheckIsFile(dockerfile); !s.ok()) return s;
  const auto text = ReadTextFile(dockerfile);
  if (!text.ok()) return text.status();
  const auto images = ReadBaseImages(options.base_images, options.base_images_must_exist);
  if (!images.ok()) return images.status();
  const auto arguments =
      ChooseArguments(DeclaredArguments(*text), *images, options.build_arguments);
  if (!arguments.ok()) return arguments.status();
  absl::Status based =
      CheckBaseImages(RegistryImages(*text), *images, *arguments, options.base_images);
  if (!based.ok()) return based;
  auto packed = PackFolder(options.target);
  if (!packed.ok()) return packed.status();
  plan.spec.set_context_sha256(packed->sha256);
  plan.spec.mutable_build_args()->insert(arguments->begin(), arguments->end());
  plan.context = std::make_shared<const std::string>(std::move(packed->bytes));
  return plan;
}

}  // namespace

Task<absl::StatusOr<TargetPlan>> PlanTarget(net::any_io_executor loop, const RunOptions& options) {
  // RunBlocking wants a result that can be made empty, which StatusOr's is: an unknown error.
  const auto pack = [&options] { return PackTarget(options); };
  auto plan = co_await RunBlocking(std::move(loop), pack);
  co_return plan;
}

}  // namespace fetchbench::coordinator
