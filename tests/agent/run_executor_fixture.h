#pragma once

#include "agent/run_executor.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/record_codec.h"
#include "tests/support/fake_clock.h"

namespace fetchbench::agent {

// Remembers what it was told; a test answers for it.
class FakeTarget final : public TargetProcess {
 public:
  Task<absl::Status> Start(TargetCommand /*command*/, TargetSink& /*sink*/) override {
    co_return absl::OkStatus();
  }
  void Feed(std::string bytes) override { fed += bytes; }
  bool writable() const override { return room && !input_closed; }
  void CloseInput() override { input_closed = true; }
  void Terminate() override { ++terminated; }
  void Kill() override { ++killed; }
  TargetUsage Usage() override { return {}; }
  std::string CostBasis() const override { return {}; }

  std::string fed;
  bool room = true;
  bool input_closed = false;
  int terminated = 0;
  int killed = 0;
};

inline std::string Line(const std::string& url) {
  return url + ",200,2023-11-14T22:13:20.123456Z,12.5,77\n";
}

inline RunSettings Settings() {
  RunSettings settings;
  settings.target_name = "fake";
  settings.concurrency = 2;
  return settings;
}

class RunExecutorTest : public ::testing::Test {
 protected:
  void SetUp() override { Make(Settings()); }

  void Make(RunSettings settings) {
    executor_ = std::make_unique<RunExecutor>(settings, target_, clock_, [] {});
    executor_->Attach(settings.last_committed_seq);
  }

  void Lend(uint64_t lease_id, uint64_t first, const std::vector<std::string>& urls) {
    v1::Lease lease;
    lease.set_lease_id(lease_id);
    for (size_t i = 0; i < urls.size(); ++i) {
      lease.add_index_delta(i == 0 ? static_cast<int64_t>(first) : 1);
      lease.add_url(urls[i]);
    }
    executor_->AddLease(std::move(lease));
  }

  void Exit(int code, const std::string& words = "") {
    TargetExit exit;
    exit.code = code;
    exit.stderr_tail = words;
    executor_->OnExit(exit);
  }

  // Lets time pass in ticks, so that everything that is due happens.
  void Pass(std::chrono::milliseconds time) {
    for (std::chrono::milliseconds t{0}; t < time; t += std::chrono::milliseconds(25)) {
      clock_.Advance(std::chrono::milliseconds(25));
      executor_->Tick();
    }
  }

  // Takes and acknowledges every batch that is ready.
  void Commit() {
    Pass(std::chrono::milliseconds(125));
    while (const v1::Batch* batch = executor_->NextBatch()) {
      const auto records = DecodeRecords(batch->records());
      ASSERT_TRUE(records.ok()) << records.status();
      for (const Record& r : *records)
        EXPECT_TRUE(records_.try_emplace(r.index, r).second) << r.index;
      executor_->Ack(batch->seq());
    }
  }

  v1::Progress Progress() {
    v1::Progress progress;
    executor_->FillProgress(progress);
    return progress;
  }

  test::FakeClock clock_;
  FakeTarget target_;
  std::unique_ptr<RunExecutor> executor_;
  std::map<uint64_t, Record> records_;
};

}  // namespace fetchbench::agent
