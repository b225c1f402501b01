// What a coordinator may send on a stream, in any order, and what a target may print meanwhile,
// through all that an agent does with it but the transport.
#include <google/protobuf/stubs/logging.h>
#include <spdlog/spdlog.h>

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <string>

#include "agent/dispatch.h"
#include "agent/run_executor.h"
#include "agent/start_check.h"
#include "common/record_codec.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/support/fake_clock.h"

namespace fetchbench::agent {

std::string DescribeExit(const TargetExit& exit) { return "ended " + std::to_string(exit.code); }

namespace {

constexpr size_t kMaxText = 200;
constexpr int kMaxUrls = 50;
constexpr const char* kVersion = "1.0.0";

class FakeTarget final : public TargetProcess {
 public:
  Task<absl::Status> Start(TargetCommand /*command*/, TargetSink& /*sink*/) override {
    co_return absl::OkStatus();
  }
  void Feed(std::string bytes) override {
    if (input_closed) std::abort();
    for (size_t at = 0; at < bytes.size();) {
      const size_t end = bytes.find('\n', at);
      if (end == std::string::npos) std::abort();  // whole lines only
      urls.push_back(bytes.substr(at, end - at));
      at = end + 1;
    }
  }
  bool writable() const override { return is_writable; }
  void CloseInput() override { input_closed = true; }
  void Terminate() override {}
  void Kill() override {}
  TargetUsage Usage() override { return {}; }
  std::string CostBasis() const override { return ""; }

  std::deque<std::string> urls;
  bool is_writable = true;
  bool input_closed = false;
};

v1::CoordinatorMessage AnyMessage(FuzzInput& in) {
  v1::CoordinatorMessage message;
  switch (in.Between(0, 6)) {
    case 0:
    case 1: {
      v1::Lease& lease = *message.mutable_lease();
      lease.set_lease_id(in.Any<uint8_t>());
      const int urls = in.Between(0, kMaxUrls);
      for (int i = 0; i < urls; ++i) {
        lease.add_index_delta(in.Choice() ? 1 : in.Any<int64_t>());
        lease.add_url(in.Text(kMaxText));
      }
      if (in.Any<uint8_t>() == 0) lease.add_index_delta(1);
      break;
    }
    case 2:
      message.mutable_ack()->set_seq(in.Choice() ? in.Any<uint8_t>() : in.Any<uint64_t>());
      break;
    case 3:
      message.mutable_cancel()->set_reason(in.Text(kMaxText));
      break;
    case 4:
      message.mutable_finish();
      break;
    case 5:
      message.mutable_start();
      break;
    default:  // as it may come over the wire; what is no message gRPC keeps from us
      if (!message.ParseFromString(in.Text(4 * kMaxText))) message.Clear();
  }
  return message;
}

std::string AnyOutput(FuzzInput& in, FakeTarget& target) {
  if (target.urls.empty() || in.Any<uint8_t>() < 16) {
    return in.Text(kMaxText);
  }
  std::string line = target.urls.front() + ",200,2023-11-14T22:13:20.123Z,1.5,77\n";
  target.urls.pop_front();
  return line;
}

// Every message is taken, as by a stream that is attached.
void TakeAll(RunExecutor& executor) {
  executor.TakeCredit();
  while (const v1::Batch* batch = executor.NextBatch()) {
    if (!DecodeRecords(batch->records()).ok()) std::abort();
  }
  if (const auto final = executor.Final()) {
    if (!final->has_finished() && !final->has_failed()) std::abort();
  }
}

void Play(FuzzInput& in) {
  v1::Start start;
  start.set_run_id(in.Text(8));
  start.set_last_committed_seq(in.Choice() ? 0 : in.Any<uint64_t>());
  start.mutable_options()->set_concurrency(in.Any<uint8_t>());
  start.mutable_options()->set_timeout_ms(1'000);
  if (!CheckStart(start, kVersion).ok()) return;
  test::FakeClock clock;
  FakeTarget target;
  RunSettings settings;
  settings.target_name = "fuzz";
  settings.concurrency = start.options().concurrency();
  settings.per_host = in.Any<uint8_t>() % 3;
  settings.last_committed_seq = start.last_committed_seq();
  RunExecutor executor(settings, target, clock, [] {});
  executor.Attach(start.last_committed_seq());
  bool ended = false;
  while (in.left() > 0) {
    switch (in.Between(0, 7)) {
      case 0:
        clock.Advance(std::chrono::milliseconds(in.Any<uint16_t>()));
        executor.Tick();
        break;
      case 1:
        TakeAll(executor);
        break;
      case 2:
      case 3:
        if (!ended) executor.OnOutput(AnyOutput(in, target));
        break;
      case 4:
        target.is_writable = in.Choice();
        if (target.is_writable && !ended) executor.OnWritable();
        break;
      case 5:
        if (ended || in.Any<uint8_t>() > 8) break;
        ended = true;
        target.is_writable = false;
        executor.OnExit({in.Any<int8_t>(), {}, in.Text(20), ""});
        break;
      case 6:
        executor.Attach(in.Any<uint8_t>());
        break;
      default: {
        v1::CoordinatorMessage message = AnyMessage(in);
        Dispatch(executor, message);
      }
    }
  }
  v1::Progress progress;
  executor.FillProgress(progress);
  TakeAll(executor);
}

}  // namespace
}  // namespace fetchbench::agent

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  spdlog::set_level(spdlog::level::off);
  google::protobuf::SetLogHandler(nullptr);
  FuzzInput in(data, size);
  fetchbench::agent::Play(in);
  return 0;
}
