// What an agent may send on a stream, through the session, the board of agents, the book of leases
// and the sums.

#include <google/protobuf/stubs/logging.h>
#include <spdlog/spdlog.h>

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "common/record_codec.h"
#include "coordinator/fleet/peer_text.h"
#include "coordinator/run/agent_board.h"
#include "coordinator/run/agent_session.h"
#include "coordinator/summary/aggregator.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/support/fake_clock.h"

namespace fetchbench::coordinator {
namespace {

constexpr size_t kMaxText = 200;

uint64_t AnyNumber(FuzzInput& in) { return in.Choice() ? in.Any<uint8_t>() : in.Any<uint64_t>(); }

void AnyUsage(FuzzInput& in, v1::TargetUsage& usage) {
  usage.set_user_us(AnyNumber(in));
  usage.set_system_us(AnyNumber(in));
  usage.set_rss_bytes(AnyNumber(in));
  usage.set_peak_rss_bytes(AnyNumber(in));
  usage.set_open_sockets(in.Any<uint32_t>());
}

void AnyStarted(FuzzInput& in, v1::Started& started) {
  v1::HostFacts& host = *started.mutable_host();
  host.set_hostname(in.Text(kMaxText));
  host.set_clock_us(in.Any<int64_t>());
  for (int i = in.Between(0, 4); i > 0; --i) {
    host.add_target_cpus(in.Any<uint32_t>());
    started.add_held_lease_ids(AnyNumber(in));
  }
  started.set_resumed(in.Choice());
}

void AnyBatch(FuzzInput& in, v1::Batch& batch, uint64_t next) {
  batch.set_seq(in.Any<uint8_t>() > 16 ? next : AnyNumber(in));
  v1::RecordBatch& b = *batch.mutable_records();
  b.set_start_base_us(in.Choice() ? 1'700'000'000'000'000 : in.Any<int64_t>());
  b.add_texts(in.Text(kMaxText));
  for (int i = in.Between(0, 8); i > 0; --i) {
    b.add_index_delta(in.Choice() ? 1 : in.Any<int64_t>());
    b.add_outcome(static_cast<v1::Outcome>(in.Between(-1, kOutcomeCount)));
    b.add_status(static_cast<uint32_t>(in.Between(0, 1000)));
    b.add_start_delta_us(in.Any<int64_t>());
    b.add_duration_us(AnyNumber(in));
    b.add_body_bytes(AnyNumber(in));
    b.add_error_ref(static_cast<uint32_t>(in.Between(0, 2)));
  }
}

v1::AgentMessage AnyMessage(FuzzInput& in, uint64_t next) {
  v1::AgentMessage message;
  switch (in.Between(0, 7)) {
    case 0:
      AnyStarted(in, *message.mutable_started());
      break;
    case 1:
      message.mutable_credit()->set_urls(in.Any<uint32_t>());
      message.mutable_credit()->set_bytes(in.Any<uint64_t>());
      break;
    case 2:
    case 3:
      AnyBatch(in, *message.mutable_batch(), next);
      break;
    case 4: {
      v1::Progress& progress = *message.mutable_progress();
      AnyUsage(in, *progress.mutable_target());
      progress.set_in_flight(in.Any<uint32_t>());
      progress.set_stalled_us(AnyNumber(in));
      progress.set_agent_cpu_us(AnyNumber(in));
      progress.set_engine_cpu_us(AnyNumber(in));
      progress.set_surplus_lines(AnyNumber(in));
      progress.set_steal_permille(in.Any<uint32_t>());
      progress.set_clock_us(in.Any<int64_t>());
      break;
    }
    case 5:
      AnyUsage(in, *message.mutable_finished()->mutable_target());
      message.mutable_finished()->set_stalled_us(AnyNumber(in));
      break;
    case 6:
      message.mutable_failed()->set_code(in.Any<int32_t>());
      message.mutable_failed()->set_message(in.Text(kMaxText));
      break;
    default:  // as it may come over the wire; what is no message gRPC keeps from us
      if (!message.ParseFromString(in.Text(4 * kMaxText))) message.Clear();
  }
  return message;
}

// The coordinator's side of one agent, as the engine of a run puts it together.
struct Side {
  AgentEvents Events() {
    AgentEvents e;
    e.started = [this](const v1::Started& started, const absl::flat_hash_set<uint64_t>&) {
      board.Started(0, started, clock.WallUs());
    };
    e.credit = [] {};
    e.batch = [this](uint32_t, uint64_t seq, std::vector<Record> records) {
      next = seq + 1;
      for (Record& r : records) {
        if (r.start_us > 0) r.start_us -= board.clock_offset_us(0);
        sums.Add(r);
      }
    };
    e.progress = [this](const v1::Progress& progress) {
      clock.Advance(std::chrono::seconds(1));
      board.Progress(0, progress, clock.Now(), clock.WallUs());
    };
    e.finished = [this](const v1::Finished& finished) { board.Finished(0, finished); };
    e.failed = [this](const absl::Status& why, const v1::Failed& last) {
      board.Failed(0, why, last);
    };
    e.away = [](const absl::Status&) {};
    e.may_read = [] { return true; };
    return e;
  }

  test::FakeClock clock;
  AgentBoard board{{"agent"}, "boot", 10};
  Aggregator sums{5'000'000};
  uint64_t next = 1;
};

void Play(FuzzInput& in) {
  net::io_context loop(1);
  Side side;
  const auto session =
      std::make_shared<AgentSession>(loop.get_executor(), AgentEndpoint{"unix:/nowhere", ""},
                                     v1::Start(), AgentSessionLimits(), side.Events());
  while (in.left() > 0 && !session->ended()) {
    v1::AgentMessage message = AnyMessage(in, side.next);
    if (!session->Receive(message).ok()) break;  // the stream is broken off
    if (session->credit() > (1U << 20)) std::abort();
    if (session->byte_credit().value_or(0) > (int64_t{1} << 40)) std::abort();
  }
  side.sums.Result();
  side.board.Rows(side.clock.Now());
  side.board.TotalCost();
  for (const AgentSummary& summary : side.board.Summaries()) {
    if (summary.host.size() > kMaxPeerTextBytes) std::abort();
  }
}

}  // namespace
}  // namespace fetchbench::coordinator

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  spdlog::set_level(spdlog::level::off);
  google::protobuf::SetLogHandler(nullptr);
  FuzzInput in(data, size);
  fetchbench::coordinator::Play(in);
  return 0;
}
