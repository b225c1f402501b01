// Back-pressure and write deadlines of the bridge.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "tests/agent/grpc_stream_fixture.h"

namespace fetchbench::test {
namespace {

// A server that writes until it cannot, and counts.
Task<> Flood(std::shared_ptr<Server> stream, std::shared_ptr<std::atomic<int>> written,
             std::shared_ptr<std::promise<absl::Status>> end) {
  while (true) {
    const absl::Status s = co_await stream->Write(Big(64 << 10));
    if (!s.ok()) {
      end->set_value(s);
      break;
    }
    ++*written;
  }
}

struct FloodWitness {
  std::shared_ptr<std::atomic<int>> written = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<std::promise<absl::Status>> end = std::make_shared<std::promise<absl::Status>>();

  Behaviour behaviour() const {
    return [w = *this](std::shared_ptr<Server> s) { return Flood(std::move(s), w.written, w.end); };
  }
  // The count once it has stopped growing.
  int Settled() const {
    int last = -1;
    while (last != *written || last == 0) {
      last = *written;
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
    return last;
  }
};

TEST_F(GrpcStreamTest, SlowReaderHoldsTheWriterBack) {
  const FloodWitness witness;
  Serve(witness.behaviour());
  auto stream = std::make_shared<Client>(Open(StreamLimits{.inbox_messages = 2}));
  EXPECT_LT(witness.Settled(), 500)
      << "64 KiB messages: more than 32 MiB on their way to a reader that sleeps";
  net::post(client_loop_.context(), [stream] { stream->Cancel(); });
  EXPECT_EQ(Run(ReadToEnd(stream)).code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(witness.end->get_future().get().ok());
}

TEST_F(GrpcStreamTest, WriteDeadlineEndsACallThatNobodyReads) {
  const FloodWitness witness;
  Serve(witness.behaviour(), StreamLimits{.write_deadline = std::chrono::milliseconds(300)});
  auto stream = std::make_shared<Client>(Open(StreamLimits{.inbox_messages = 1}));
  EXPECT_EQ(witness.end->get_future().get().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(Run(ReadToEnd(stream)).ok());
}

}  // namespace
}  // namespace fetchbench::test
