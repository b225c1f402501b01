#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "coordinator/run/run_engine.h"
#include "tests/coordinator/memory_spool.h"
#include "tests/support/fake_agent.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::coordinator {

// What came of a run.
struct EngineResult {
  absl::Status connected;
  EngineEnd end;
  absl::Status closed;
  LeaseCounts counts;
  uint64_t committed = 0;
  std::vector<AgentSummary> agents;
  std::vector<AgentIndex> may_be_busy;
};

// The engine with scripted agents on real gRPC servers, a real spool in memory and a real store.
class RunEngineTest : public ::testing::Test {
 protected:
  fetchbench::test::FakeAgent& Add(fetchbench::test::FakeAgentScript script = {}) {
    agents_.push_back(std::make_unique<fetchbench::test::FakeAgent>(std::move(script)));
    return *agents_.back();
  }

  // Runs `urls` URLs over the agents added; `during` may act on the engine after it began to feed.
  EngineResult Run(uint64_t urls, const std::function<void(RunEngine&)>& during = {}) {
    std::vector<std::vector<uint64_t>> partitions(50);
    for (uint64_t i = 0; i < urls; ++i) partitions[i % partitions.size()].push_back(i);
    spool_ = std::make_unique<test::MemorySpool>(std::move(partitions), 16);
    EngineResult result;
    net::io_context loop(1);
    net::co_spawn(loop, Drive(loop, result, urls, during), [](std::exception_ptr e) {
      if (e) std::rethrow_exception(e);
    });
    loop.run();
    return result;
  }

  Task<> Drive(net::io_context& loop, EngineResult& result, uint64_t urls,
               const std::function<void(RunEngine&)>& during) {
    auto created =
        RunEngine::Create(loop.get_executor(), clock_, options_, folder_.File("records.db"));
    EXPECT_TRUE(created.ok()) << created.status();
    const std::shared_ptr<RunEngine> engine = *created;
    std::vector<std::string> addresses;
    for (const auto& agent : agents_) addresses.push_back(agent->address());
    addresses.insert(addresses.end(), further_addresses_.begin(), further_addresses_.end());
    v1::Start start;
    start.set_run_id("run");
    start.mutable_options()->set_concurrency(10);
    std::vector<AgentEndpoint> agents;
    for (const std::string& address : addresses) agents.push_back({.address = address, .name = ""});
    AgentCare care;
    care.admit = [this](AgentIndex agent, v1::Started) { return Admit(agent); };
    care.release = release_;
    engine->Connect(agents, "boot", start, care);
    result.connected = co_await RunEngine::WaitConnected(engine, std::chrono::milliseconds(1500));
    if (result.connected.ok()) {
      engine->Feed(urls, 0, spool_->remaining(), [this](uint32_t p) { return spool_->Take(p); });
      if (during) during(*engine);
    } else {
      engine->Stop(RunEnd::kIncomplete, std::string(result.connected.message()));
    }
    result.end = co_await RunEngine::WaitEnd(engine);
    result.closed = (co_await RunEngine::CloseStore(engine, true)).store;
    result.counts = engine->counts().value_or(LeaseCounts());
    result.committed = engine->committed();
    result.agents = engine->board().Summaries();
    result.may_be_busy = engine->MayBeBusy();
  }

  Task<absl::Status> Admit(AgentIndex agent) {
    admission_began_us_ = clock_.WallUs();
    net::steady_timer disk(co_await net::this_coro::executor, admission_takes_);
    co_await disk.async_wait(kAsTuple);
    if (agent != not_admitted_) co_return absl::OkStatus();
    co_return absl::FailedPreconditionError("it runs another version");
  }

  int64_t Rows() {
    SQLite::Database db(folder_.File("records.db"), SQLite::OPEN_READONLY);
    return db.execAndGet("SELECT count(*) FROM record").getInt64();
  }

  void ExpectComplete(const EngineResult& result, uint64_t urls) {
    EXPECT_TRUE(result.connected.ok()) << result.connected;
    EXPECT_EQ(result.end.end, RunEnd::kComplete) << result.end.reason;
    EXPECT_TRUE(result.closed.ok()) << result.closed;
    EXPECT_EQ(result.counts.recorded, urls);
    EXPECT_EQ(result.committed, urls);
    EXPECT_EQ(Rows(), static_cast<int64_t>(urls));
    EXPECT_TRUE(result.counts.Balanced());
  }

  const SystemClock clock_{};
  const fetchbench::test::TempFolder folder_;
  EngineOptions options_{.grace = std::chrono::milliseconds(500),
                         .session = {.silence = std::chrono::milliseconds(5000),
                                     .first_backoff = std::chrono::milliseconds(20),
                                     .longest_backoff = std::chrono::milliseconds(100)},
                         .timeout_us = 5'000'000,
                         .finish_wait = std::chrono::milliseconds(5000),
                         .stop_wait = std::chrono::milliseconds(1000)};
  std::vector<std::unique_ptr<fetchbench::test::FakeAgent>> agents_;
  std::vector<std::string> further_addresses_;
  std::unique_ptr<test::MemorySpool> spool_;
  std::optional<AgentIndex> not_admitted_;
  AgentSession::Release release_;
  std::chrono::milliseconds admission_takes_{0};
  int64_t admission_began_us_ = 0;
};

}  // namespace fetchbench::coordinator
