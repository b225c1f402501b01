#include "tests/support/agent_client.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/record_codec.h"
#include "common/url_cost.h"

namespace fetchbench::test {

v1::Start MakeStart(const std::string& run_id, const std::string& script) {
  v1::Start start;
  start.set_run_id(run_id);
  start.mutable_target()->set_name("native");
  start.mutable_options()->set_concurrency(10);
  start.mutable_options()->set_timeout_ms(5'000);
  start.mutable_options()->set_user_agent(script);
  start.set_progress_interval_ms(100);
  return start;
}

std::vector<std::string> MakeUrls(size_t count) {
  std::vector<std::string> urls;
  urls.reserve(count);
  for (size_t i = 0; i < count; ++i) urls.push_back(fmt::format("https://u{}.test/", i));
  return urls;
}

RunStream::RunStream(v1::Agent::Stub& stub, const v1::Start& start) {
  context_.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  stream_ = stub.Execute(&context_);
  SendStart(start);
}

RunStream::~RunStream() {
  context_.TryCancel();
  End();
}

bool RunStream::SendStart(const v1::Start& start) {
  v1::CoordinatorMessage message;
  *message.mutable_start() = start;
  return Send(message);
}

bool RunStream::SendLease(uint64_t lease_id, uint64_t first_index,
                          const std::vector<std::string>& urls) {
  v1::CoordinatorMessage message;
  v1::Lease& lease = *message.mutable_lease();
  lease.set_lease_id(lease_id);
  for (size_t i = 0; i < urls.size(); ++i) {
    lease.add_index_delta(i == 0 ? static_cast<int64_t>(first_index) : 1);
    lease.add_url(urls[i]);
  }
  return Send(message);
}

bool RunStream::SendAck(uint64_t seq) {
  v1::CoordinatorMessage message;
  message.mutable_ack()->set_seq(seq);
  return Send(message);
}

bool RunStream::SendCancel() {
  v1::CoordinatorMessage message;
  message.mutable_cancel()->set_reason("test");
  return Send(message);
}

bool RunStream::SendFinish() {
  v1::CoordinatorMessage message;
  message.mutable_finish();
  return Send(message);
}

bool RunStream::Send(const v1::CoordinatorMessage& message) { return stream_->Write(message); }

std::optional<v1::AgentMessage> RunStream::Read() {
  v1::AgentMessage message;
  if (!stream_->Read(&message)) return std::nullopt;
  return message;
}

std::optional<v1::AgentMessage> RunStream::ReadUntil(v1::AgentMessage::KindCase kind) {
  while (auto message = Read()) {
    if (message->kind_case() == kind) return message;
  }
  return std::nullopt;
}

grpc::Status RunStream::End() {
  if (end_) return *end_;
  while (Read()) {
  }
  end_ = stream_->Finish();
  return *end_;
}

void RunStream::Abort() { context_.TryCancel(); }

namespace {

// Then the next one begins, so that each is a message that an agent takes.
constexpr size_t kLeaseUrls = 4'096;
constexpr size_t kLeaseBytes = 256 << 10;

void TakeBatch(const v1::Batch& batch, RunResult& result) {
  if (result.last_seq != 0 && batch.seq() != result.last_seq + 1) result.seq_gap = true;
  result.last_seq = batch.seq();
  auto records = DecodeRecords(batch.records());
  if (!records.ok()) return;
  for (Record& r : *records) {
    if (!result.records.try_emplace(r.index, r).second) ++result.repeated;
  }
}

// What an agent has granted and was not sent.
struct Window {
  uint64_t urls = 0;
  int64_t bytes = 0;
};

// The first URL that the window has no room for.
size_t EndOf(const std::vector<std::string>& urls, size_t next, Window& window) {
  for (; next < urls.size() && window.urls > 0; ++next, --window.urls) {
    const auto cost = static_cast<int64_t>(UrlCost(urls[next].size()));
    if (cost > window.bytes) break;
    window.bytes -= cost;
  }
  return next;
}

void Lend(RunStream& stream, const std::vector<std::string>& urls, size_t& next, Window& window) {
  if (next >= urls.size()) return;
  const size_t end = EndOf(urls, next, window);
  while (next < end) {
    std::vector<std::string> lease;
    for (size_t bytes = 0; next + lease.size() < end; bytes += lease.back().size()) {
      if (lease.size() == kLeaseUrls || bytes >= kLeaseBytes) break;
      lease.push_back(urls[next + lease.size()]);
    }
    stream.SendLease(next + 1, next, lease);
    next += lease.size();
  }
  if (next == urls.size()) stream.SendFinish();
}

}  // namespace

RunResult Drive(RunStream& stream, const std::vector<std::string>& urls, size_t& next,
                const std::function<bool(const RunResult&)>& stop) {
  RunResult result;
  Window window;
  if (urls.empty()) stream.SendFinish();
  while (auto message = stream.Read()) {
    if (message->has_started()) result.started = message->started();
    if (message->has_progress()) result.last_progress = message->progress();
    if (message->has_finished()) result.finished = message->finished();
    if (message->has_failed()) result.failed = message->failed();
    if (message->has_credit()) {
      result.credits.push_back(message->credit().urls());
      window.urls += message->credit().urls();
      window.bytes += static_cast<int64_t>(message->credit().bytes());
      Lend(stream, urls, next, window);
    }
    if (message->has_batch()) {
      TakeBatch(message->batch(), result);
      if (stop && stop(result)) return result;  // not acknowledged: it comes again
      stream.SendAck(message->batch().seq());
    }
    if (stop && stop(result)) return result;
  }
  result.status = stream.End();
  return result;
}

RunResult Drive(RunStream& stream, const std::vector<std::string>& urls) {
  size_t next = 0;
  return Drive(stream, urls, next);
}

}  // namespace fetchbench::test
