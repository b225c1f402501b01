#include "tests/support/fake_agent.h"

#include <fmt/format.h>

#include <thread>

#include "common/record_codec.h"
#include "common/url_cost.h"

namespace fetchbench::test {
namespace {

std::optional<Record> Answer200(uint64_t index, const std::string& /*url*/) {
  Record r;
  r.index = index;
  r.outcome = Outcome::kStatus;
  r.status = 200;
  r.start_us = 1'700'000'000'000'000 + static_cast<int64_t>(index);
  r.duration_us = 1000;
  r.body_bytes = 10;
  return r;
}

FakeAgentScript WithAnswer(FakeAgentScript script) {
  if (!script.answer) script.answer = Answer200;
  return script;
}

const grpc::Status kBroken(grpc::StatusCode::UNAVAILABLE, "the script breaks the stream");

}  // namespace

FakeAgent::FakeAgent(FakeAgentScript script)
    : script_(WithAnswer(std::move(script))), server_(*this) {}

uint64_t FakeAgent::records_sent() const {
  const std::lock_guard lock(mutex_);
  return records_sent_;
}
uint64_t FakeAgent::acknowledged() const {
  const std::lock_guard lock(mutex_);
  return acknowledged_;
}
std::vector<v1::Start> FakeAgent::starts() const {
  const std::lock_guard lock(mutex_);
  return starts_;
}
std::map<uint64_t, int> FakeAgent::urls_seen() const {
  const std::lock_guard lock(mutex_);
  return urls_seen_;
}
bool FakeAgent::cancelled() const {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}
uint64_t FakeAgent::overdrawn() const {
  const std::lock_guard lock(mutex_);
  return overdrawn_;
}

int64_t FakeAgent::overdrawn_bytes() const {
  const std::lock_guard lock(mutex_);
  return overdrawn_bytes_;
}

grpc::Status FakeAgent::Describe(grpc::ServerContext* /*context*/,
                                 const v1::DescribeRequest* /*request*/,
                                 v1::DescribeResponse* response) {
  const std::lock_guard lock(mutex_);
  response->set_version("fake");
  response->mutable_host()->set_hostname("fake-host");
  response->mutable_host()->set_cpus(2);
  if (script_.refuse) response->set_busy_run_id("other");
  return grpc::Status::OK;
}

void FakeAgent::SendStarted(CallStream& stream, bool resumed) {
  v1::AgentMessage message;
  v1::Started& started = *message.mutable_started();
  started.mutable_host()->set_hostname("fake-host");
  started.mutable_host()->set_clock_us(script_.clock_us);
  started.mutable_target()->set_name("fake");
  started.set_resumed(resumed);
  for (const auto& [lease, left] : held_) started.add_held_lease_ids(lease);
  if (broken_ && script_.trouble_after_break) {
    *started.mutable_memory_trouble() = *script_.trouble_after_break;
  }
  stream.Write(message);
}

void FakeAgent::Grant(CallStream& stream, uint32_t urls, uint64_t bytes) {
  credit_ += urls;
  byte_credit_ += static_cast<int64_t>(bytes);
  v1::AgentMessage message;
  message.mutable_credit()->set_urls(urls);
  message.mutable_credit()->set_bytes(bytes);
  stream.Write(message);
}

grpc::Status FakeAgent::Execute(grpc::ServerContext* /*context*/, CallStream* stream) {
  const grpc::Status status = Serve(*stream);
  ++streams_ended_;
  return status;
}

grpc::Status FakeAgent::Serve(CallStream& stream) {
  v1::CoordinatorMessage message;
  if (!stream.Read(&message) || !message.has_start()) {
    return {grpc::StatusCode::INVALID_ARGUMENT, "no Start"};
  }
  {
    const std::lock_guard lock(mutex_);
    if (script_.refuse && script_.refusals != 0) {
      if (script_.refusals > 0) --script_.refusals;
      return *script_.refuse;
    }
    if (broken_ && script_.away_after_break) return kBroken;
    if (broken_ && script_.only_word_after_break) {
      starts_.push_back(message.start());
      stream.Write(*script_.only_word_after_break);
      return grpc::Status::OK;
    }
    const bool resumed = !starts_.empty() && (reborn_ || !script_.forget_at_break);
    reborn_ = reborn_ || broken_;
    starts_.push_back(message.start());
    if (!resumed) {
      held_.clear();
      unacknowledged_.clear();
      batch_leases_.clear();
      gathered_.clear();
      last_seq_ = message.start().last_committed_seq();
    }
    std::this_thread::sleep_for(broken_ ? script_.slow_start : script_.slow_first_start);
    SendStarted(stream, resumed);
    if (broken_ && script_.barren_streams-- > 0) return kBroken;
    for (const v1::Batch& batch : unacknowledged_) {
      if (batch.seq() <= message.start().last_committed_seq()) continue;
      v1::AgentMessage again;
      *again.mutable_batch() = batch;
      stream.Write(again);
    }
    credit_ = 0;
    byte_credit_ = 0;
    Grant(stream, script_.window, script_.window_bytes);
    for (const v1::AgentMessage& word : script_.first_words) stream.Write(word);
  }
  while (stream.Read(&message)) {
    const std::lock_guard lock(mutex_);
    if (HandleLocked(message, stream)) continue;
    if (refused_ack_ > 0) {
      return {grpc::StatusCode::INVALID_ARGUMENT,
              fmt::format("batch {} is acknowledged, but there is none", refused_ack_)};
    }
    return broken_ ? kBroken : grpc::Status::OK;
  }
  return kBroken;
}

// False: the call ends.
bool FakeAgent::HandleLocked(const v1::CoordinatorMessage& message, CallStream& stream) {
  if (message.has_lease()) return TakeLease(message.lease(), stream);
  if (message.has_ack()) {
    acknowledged_ = message.ack().seq();
    if (acknowledged_ > last_seq_) {  // as an agent says it
      refused_ack_ = acknowledged_;
      return false;
    }
    while (!unacknowledged_.empty() && unacknowledged_.front().seq() <= acknowledged_) {
      for (const auto& [lease, count] : batch_leases_.front().second) {
        if ((held_[lease] -= count) == 0) held_.erase(lease);
      }
      unacknowledged_.pop_front();
      batch_leases_.pop_front();
    }
  }
  if (message.has_cancel()) cancelled_ = true;
  if (message.has_cancel() && script_.ignore_cancel) return true;
  if (message.has_cancel() || message.has_finish()) finish_ = !script_.ignore_cancel || !cancelled_;
  return !MaybeFinish(stream);
}

bool FakeAgent::MaybeFinish(CallStream& stream) {
  if (!finish_ || !unacknowledged_.empty() || script_.no_last_word) return false;
  v1::AgentMessage message;
  message.mutable_finished()->set_records(records_sent_);
  message.mutable_finished()->set_last_seq(last_seq_);
  stream.Write(message);
  return true;
}

bool FakeAgent::TakeLease(const v1::Lease& lease, CallStream& stream) {
  const auto urls = static_cast<uint64_t>(lease.url_size());
  overdrawn_ += urls > credit_ ? urls - credit_ : 0;
  credit_ -= std::min(credit_, urls);
  uint64_t bytes = 0;
  for (const std::string& url : lease.url()) bytes += UrlCost(url.size());
  byte_credit_ -= static_cast<int64_t>(bytes);
  overdrawn_bytes_ = std::max(overdrawn_bytes_, -byte_credit_);
  uint64_t index = 0;
  held_[lease.lease_id()] = urls;
  for (int i = 0; i < lease.url_size(); ++i) {
    index += static_cast<uint64_t>(lease.index_delta(i));
    ++urls_seen_[index];
    lease_of_[index] = lease.lease_id();
    std::optional<Record> record = script_.answer(index, lease.url(i));
    if (!record) continue;
    gathered_.push_back(*std::move(record));
    if (gathered_.size() >= script_.records_per_batch && !SendBatch(stream)) return false;
  }
  if (!gathered_.empty() && !SendBatch(stream)) return false;
  Grant(stream, static_cast<uint32_t>(urls), script_.window_bytes > 0 ? bytes : 0);
  return true;
}

bool FakeAgent::SendBatch(CallStream& stream) {
  if (script_.instead_of_batch) {
    stream.Write(*script_.instead_of_batch);
    script_.instead_of_batch.reset();
    gathered_.clear();
    return true;
  }
  v1::AgentMessage message;
  v1::Batch& batch = *message.mutable_batch();
  batch.set_seq(++last_seq_);
  *batch.mutable_records() = EncodeRecords(gathered_);
  unacknowledged_.push_back(batch);
  std::map<uint64_t, uint64_t> counts;
  for (const Record& record : gathered_) ++counts[lease_of_[record.index]];
  batch_leases_.emplace_back(last_seq_, std::move(counts));
  records_sent_ += gathered_.size();
  gathered_.clear();
  stream.Write(message);
  if (script_.send_batches_twice) stream.Write(message);
  if (script_.break_after && records_sent_ >= *script_.break_after) {
    script_.break_after.reset();
    broken_ = true;
    return false;
  }
  return true;
}

}  // namespace fetchbench::test
