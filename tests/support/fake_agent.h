#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/record.h"
#include "fetchbench/v1/agent.grpc.pb.h"
#include "tests/support/loopback_server.h"

namespace fetchbench::test {

// What a FakeAgent does. The default answers every URL at once with status 200.
struct FakeAgentScript {
  uint32_t window = 512;  // credit granted at first; each answered URL grants another
  // The same in bytes, by UrlCost; 0: it does not say.
  uint64_t window_bytes = 0;
  size_t records_per_batch = 100;  // at most
  // The record of a URL; empty: it is never answered.
  std::function<std::optional<Record>(uint64_t index, const std::string& url)> answer{};
  // After so many records the stream breaks, once. What was sent and not acknowledged is sent
  // again.
  std::optional<uint64_t> break_after{};
  bool forget_at_break = false;  // the break is the end of this life: nothing is resumed
  int barren_streams = 0;        // so many of those after the break end right after Started
  std::chrono::milliseconds slow_start{0};        // Started comes so late on those after the break
  std::chrono::milliseconds slow_first_start{0};  // and on those before it
  bool away_after_break = false;                  // and no stream is accepted any more
  // Then every Start is answered with this alone.
  std::optional<v1::AgentMessage> only_word_after_break{};
  // And this is told with Started.
  std::optional<v1::MemoryTrouble> trouble_after_break{};
  int64_t clock_us = 0;  // told with Started; 0: it does not say
  bool send_batches_twice = false;
  bool ignore_cancel = false;
  bool no_last_word = false;             // it stays there, and never says that it has finished
  std::optional<grpc::Status> refuse{};  // Execute answers this at once
  int refusals = -1;                     // so often; -1: always
  // Sent after Started and the first credit.
  std::vector<v1::AgentMessage> first_words{};
  // Sent instead of the first batch.
  std::optional<v1::AgentMessage> instead_of_batch{};
};

// An agent without a target: a real gRPC server that keeps to a script. Thread-safe.
class FakeAgent final : public v1::Agent::Service {
 public:
  explicit FakeAgent(FakeAgentScript script);

  const std::string& address() const { return server_.address(); }  // "127.0.0.1:port"

  uint64_t records_sent() const;
  uint64_t acknowledged() const;  // highest number
  std::vector<v1::Start> starts() const;
  std::map<uint64_t, int> urls_seen() const;  // index -> how often it was lent to this agent
  bool cancelled() const;
  // How many URLs were lent beyond what had been granted.
  uint64_t overdrawn() const;
  // The most bytes that were lent at once beyond what had been granted.
  int64_t overdrawn_bytes() const;
  // Execute calls that are over.
  int streams_ended() const { return streams_ended_; }

  grpc::Status Describe(grpc::ServerContext* context, const v1::DescribeRequest* request,
                        v1::DescribeResponse* response) override;
  grpc::Status Execute(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::AgentMessage, v1::CoordinatorMessage>* stream) override;

 private:
  using CallStream = grpc::ServerReaderWriter<v1::AgentMessage, v1::CoordinatorMessage>;

  grpc::Status Serve(CallStream& stream);
  bool HandleLocked(const v1::CoordinatorMessage& message, CallStream& stream);
  bool TakeLease(const v1::Lease& lease, CallStream& stream);
  bool SendBatch(CallStream& stream);
  void SendStarted(CallStream& stream, bool resumed);
  void Grant(CallStream& stream, uint32_t urls, uint64_t bytes);
  bool MaybeFinish(CallStream& stream);

  FakeAgentScript script_;
  mutable std::mutex mutex_;
  std::vector<v1::Start> starts_;
  std::map<uint64_t, int> urls_seen_;
  std::vector<Record> gathered_;
  std::deque<v1::Batch> unacknowledged_;
  std::map<uint64_t, uint64_t> held_;  // lease -> URLs without an acknowledged record
  std::deque<std::pair<uint64_t, std::map<uint64_t, uint64_t>>> batch_leases_;
  std::map<uint64_t, uint64_t> lease_of_;
  uint64_t last_seq_ = 0;
  uint64_t acknowledged_ = 0;
  uint64_t refused_ack_ = 0;  // one of a batch that was never sent
  uint64_t records_sent_ = 0;
  uint64_t credit_ = 0;
  uint64_t overdrawn_ = 0;
  int64_t byte_credit_ = 0;
  int64_t overdrawn_bytes_ = 0;
  std::atomic<int> streams_ended_{0};
  bool finish_ = false;
  bool cancelled_ = false;
  bool broken_ = false;
  bool reborn_ = false;    // a stream of the life after the break has begun
  LoopbackServer server_;  // its threads use all of the above
};

}  // namespace fetchbench::test
