#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "common/io_thread.h"
#include "coordinator/prepare/prepare_call.h"
#include "tests/support/fake_image_agent.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::coordinator {

// Agents a, b, c ... that are real gRPC servers and whose images are their ids, and the call that
// makes a target ready on all of them.
class ImageFleetFixture : public ::testing::Test {
 protected:
  test::FakeImageAgent& Add(test::FakeImageScript script, const std::string& image = "") {
    auto engine = std::make_shared<test::FakeEngine>();
    engine->image_id = image;
    return Add(std::move(script), std::move(engine));
  }
  test::FakeImageAgent& Add(test::FakeImageScript script,
                            std::shared_ptr<test::FakeEngine> engine) {
    engines_.push_back(engine);
    agents_.push_back(std::make_unique<test::FakeImageAgent>(std::move(script), std::move(engine)));
    return *agents_.back();
  }

  // `image`: one that is named; empty: it is built of a folder.
  FleetCall Call(const std::string& image = "") {
    FleetCall call;
    call.loop = loop_.executor();
    for (size_t i = 0; i < agents_.size(); ++i) {
      call.endpoints.push_back({agents_[i]->address(), std::string(1, static_cast<char>('a' + i))});
    }
    call.plan.spec.set_name("go/net-http");
    call.plan.spec.set_image(image);
    if (image.empty()) {
      call.plan.spec.set_context_sha256("00");
      call.plan.context = std::make_shared<const std::string>("the folder");
    }
    call.folder = folder_.path();
    call.limits.connect = std::chrono::seconds(2);
    call.events.progress = [](size_t, const v1::PrepareProgress&) {};
    call.events.stopped = [] { return false; };
    return call;
  }

  // Of this process, in the folder where images on their way are kept; by name or without one.
  size_t OpenFiles() const {
    size_t open = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const std::string file = std::filesystem::read_symlink(entry, gone).string();
      if (file.starts_with(folder_.path() + "/")) ++open;
    }
    return open;
  }

  const test::TempFolder folder_;
  IoThread loop_{"images-test"};
  std::vector<std::shared_ptr<test::FakeEngine>> engines_;
  std::vector<std::unique_ptr<test::FakeImageAgent>> agents_;
};

}  // namespace fetchbench::coordinator
