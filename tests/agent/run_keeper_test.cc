#include "agent/run_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <utility>

#include "tests/support/fake_clock.h"

namespace fetchbench::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RunKeeperTest : public ::testing::Test {
 protected:
  RunKeeperTest() {
    signal(SIGPIPE, SIG_IGN);
    start_.set_run_id("r");
    start_.mutable_target()->set_name("native");
    start_.mutable_options()->set_concurrency(1);
    start_.mutable_options()->set_timeout_ms(1'000);
  }
  ~RunKeeperTest() override {
    keeper_.ShutDown();
    io_.run();
  }

  static AgentConfig Config() {
    AgentConfig config;
    config.native_path = std::filesystem::read_symlink("/proc/self/exe").parent_path() /
                         "fetchbench-scripted-target";
    config.memory_limit_bytes = uint64_t{64} << 20;
    return config;
  }

  RunKeeper::Opened Open() {
    auto future = net::co_spawn(io_, keeper_.Open(start_), net::use_future);
    while (future.wait_for(std::chrono::seconds(0)) != std::future_status::ready) io_.run_one();
    absl::StatusOr<RunKeeper::Opened> opened = future.get();
    EXPECT_TRUE(opened.ok()) << opened.status();
    return opened.ok() ? std::move(*opened) : RunKeeper::Opened();
  }

  test::FakeClock clock_;
  net::io_context io_{1};
  RunKeeper keeper_{Config(), clock_, io_.get_executor()};
  v1::Start start_;
};

TEST_F(RunKeeperTest, LastWordIsKeptUntilItIsDelivered) {
  const RunKeeper::Opened opened = Open();
  ASSERT_TRUE(opened.run);
  v1::AgentMessage last_word;
  last_word.mutable_finished()->set_records(5);
  last_word.mutable_finished()->set_last_seq(3);
  keeper_.Conclude(opened.run, last_word);
  start_.set_last_committed_seq(3);
  for (int i = 0; i < 3; ++i) {  // each of these streams breaks before it was read
    const RunKeeper::Opened again = Open();
    ASSERT_TRUE(again.final.has_value());
    EXPECT_TRUE(again.resumed);
    EXPECT_EQ(again.final->finished().records(), 5);
  }
  keeper_.Delivered("r");
  const RunKeeper::Opened fresh = Open();
  EXPECT_FALSE(fresh.final.has_value());
  EXPECT_TRUE(fresh.run);
  EXPECT_FALSE(fresh.resumed);
}

// With all that it held; its coordinator begins it again.
TEST_F(RunKeeperTest, ADroppedRunIsGoneAndItsStreamToldSo) {
  struct Listener final : RunListener {
    void OnNews() override {}
    void OnDisplaced(absl::Status status) override { told = std::move(status); }
    absl::Status told;
  };
  keeper_.DropRun("there is none");
  EXPECT_EQ(keeper_.counts().runs_dropped, 0u);
  RunKeeper::Opened opened = Open();
  ASSERT_TRUE(opened.run);
  const auto listener = std::make_shared<Listener>();
  opened.run->Attach(listener, 0, false);
  const std::weak_ptr<ActiveRun> run = std::exchange(opened.run, nullptr);
  keeper_.DropRun("it takes too much memory");
  EXPECT_EQ(listener->told,
            absl::UnavailableError("the agent dropped the run: it takes too much memory"));
  EXPECT_EQ(keeper_.counts().runs_dropped, 1u);
  EXPECT_EQ(keeper_.run(), nullptr);
  while (!run.expired()) io_.run_one();  // who watches it lets go
  EXPECT_FALSE(Open().resumed);
}

// A coordinator would begin it again for ever, and it would be dropped again each time.
TEST_F(RunKeeperTest, ARunDroppedTwiceForItsMemoryIsAnsweredWithAFinalFailure) {
  ASSERT_TRUE(Open().run);
  keeper_.DropRunForMemory(70 << 20);
  ASSERT_TRUE(Open().run) << "once may have been others' fault";
  keeper_.DropRunForMemory(71 << 20);
  for (int i = 0; i < 2; ++i) {
    const RunKeeper::Opened refused = Open();
    EXPECT_FALSE(refused.run);
    EXPECT_FALSE(refused.resumed);
    ASSERT_TRUE(refused.final && refused.final->has_failed());
    EXPECT_EQ(refused.final->failed().code(),
              static_cast<int>(absl::StatusCode::kResourceExhausted));
    EXPECT_THAT(refused.final->failed().message(),
                AllOf(HasSubstr("71 MiB"), HasSubstr("64 MiB (--memory-limit)")));
  }
  start_.set_run_id("another");
  EXPECT_TRUE(Open().run);
}

TEST_F(RunKeeperTest, WhoComesAfterAHangUpForMemoryIsToldOfIt) {
  struct Listener final : RunListener {
    void OnNews() override {}
    void OnDisplaced(absl::Status /*status*/) override {}
  };
  const auto listener = std::make_shared<Listener>();
  const RunKeeper::Opened opened = Open();
  opened.run->Attach(listener, 0, false, keeper_.memory().last());
  EXPECT_FALSE(opened.run->Next()->started().has_memory_trouble());
  keeper_.HungUpForMemory(70 << 20);
  EXPECT_EQ(keeper_.counts().memory_hangups, 1u);
  opened.run->Attach(listener, 0, true, keeper_.memory().last());
  const v1::MemoryTrouble told = opened.run->Next()->started().memory_trouble();
  EXPECT_EQ(told.memory_bytes(), 70 << 20);
  EXPECT_EQ(told.limit_bytes(), 64 << 20);
  EXPECT_EQ(told.at_us(), clock_.WallUs());
}

struct DeafListener final : RunListener {
  void OnNews() override {}
  void OnDisplaced(absl::Status /*status*/) override {}
};

TEST_F(RunKeeperTest, ARunThatWasLentNothingKeepsNoOtherOneWaiting) {
  const RunKeeper::Opened first = Open();
  ASSERT_TRUE(first.run);
  start_.set_run_id("another");
  const RunKeeper::Opened second = Open();
  ASSERT_TRUE(second.run);
  EXPECT_EQ(second.run->id(), "another");
  EXPECT_EQ(keeper_.counts().runs_dropped, 1u);
}

TEST_F(RunKeeperTest, ARunThatWasLentNothingIsNotKeptForLong) {
  ASSERT_TRUE(Open().run);
  clock_.Advance(Config().untouched_timeout + std::chrono::seconds(1));
  for (int i = 0; i < 500 && keeper_.run(); ++i) io_.run_one_for(std::chrono::milliseconds(100));
  EXPECT_EQ(keeper_.run(), nullptr);
}

// What it used would be added up twice.
TEST_F(RunKeeperTest, ARunThatWasLentNothingIsKeptForTheNextStreamUnlessItToldOfItsCost) {
  const auto listener = std::make_shared<DeafListener>();
  const RunKeeper::Opened opened = Open();
  ASSERT_TRUE(opened.run);
  opened.run->Attach(listener, 0, false);
  ASSERT_TRUE(opened.run->Next()->has_started());
  opened.run->Detach(listener.get());
  keeper_.Left(opened.run);
  const RunKeeper::Opened again = Open();
  ASSERT_EQ(again.run, opened.run);
  EXPECT_FALSE(again.resumed);
  again.run->Attach(listener, 0, again.resumed);
  ASSERT_TRUE(again.run->Next()->has_started());
  clock_.Advance(std::chrono::minutes(1));
  ASSERT_TRUE(again.run->Next()->has_progress());
  again.run->Detach(listener.get());
  keeper_.Left(again.run);
  EXPECT_EQ(keeper_.run(), nullptr);
}

TEST_F(RunKeeperTest, ARunThatEndsWhileNoStreamHasItLeavesTheAgentFree) {
  const auto listener = std::make_shared<DeafListener>();
  RunKeeper::Opened opened = Open();
  ASSERT_TRUE(opened.run);
  opened.run->Attach(listener, 0, false);
  v1::Lease lease;
  lease.set_lease_id(1);
  lease.add_index_delta(0);
  lease.add_url("https://u0.test/");
  opened.run->executor().AddLease(std::move(lease));
  opened.run->executor().Cancel("it is to end");
  opened.run->Detach(listener.get());
  keeper_.Left(opened.run);
  ASSERT_EQ(keeper_.run(), opened.run.get()) << "its target has not ended yet";
  for (int i = 0; i < 500 && keeper_.run(); ++i) io_.run_one_for(std::chrono::milliseconds(100));
  EXPECT_EQ(keeper_.run(), nullptr);
  io_.restart();  // it had nothing more to do
  const RunKeeper::Opened late = Open();
  ASSERT_TRUE(late.final);
  EXPECT_TRUE(late.final->has_finished());
}

TEST_F(RunKeeperTest, LastWordIsNotForACoordinatorWithAnotherPosition) {
  const RunKeeper::Opened opened = Open();
  ASSERT_TRUE(opened.run);
  v1::AgentMessage last_word;
  last_word.mutable_finished()->set_last_seq(3);
  keeper_.Conclude(opened.run, last_word);
  start_.set_last_committed_seq(2);
  const RunKeeper::Opened fresh = Open();
  EXPECT_FALSE(fresh.final.has_value());
  EXPECT_TRUE(fresh.run);
}

}  // namespace
}  // namespace fetchbench::agent
