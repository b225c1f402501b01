#include "agent/run_executor.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "agent/one_line.h"
#include "common/log.h"
#include "common/utf8.h"

namespace fetchbench::agent {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

// One write to the target: the usual capacity of a pipe.
constexpr size_t kFeedBytes = 64 << 10;
constexpr size_t kEvidenceLineBytes = 200;

void FillUsage(v1::TargetUsage& out, const TargetUsage& usage) {
  out.set_user_us(usage.user_us);
  out.set_system_us(usage.system_us);
  out.set_rss_bytes(usage.rss_bytes);
  out.set_peak_rss_bytes(usage.peak_rss_bytes);
  out.set_open_files(usage.open_files);
  out.set_open_sockets(usage.open_sockets);
}

std::string LastLine(const std::string& text) {
  const size_t end = text.find_last_not_of("\r\n ");
  if (end == std::string::npos) return {};
  const size_t begin = text.rfind('\n', end);
  const size_t from = begin == std::string::npos ? 0 : begin + 1;
  return text.substr(from, std::min(end + 1 - from, kEvidenceLineBytes));
}

}  // namespace

RunExecutor::RunExecutor(RunSettings settings, TargetProcess& target, const Clock& clock,
                         std::function<void()> on_news)
    : settings_(std::move(settings)),
      target_(target),
      clock_(clock),
      on_news_(std::move(on_news)),
      run_clock_(clock),
      credit_{settings_.concurrency, HeldBytesWithin(settings_.memory_limit_bytes)},
      book_(settings_.per_host, credit_.max_bytes),
      outbox_(settings_.limits.outbox, settings_.last_committed_seq),
      last_life_(clock.Now()) {}

void RunExecutor::AddLease(v1::Lease lease) {
  if (phase_ == Phase::kFinishing) {
    Fail(absl::InvalidArgumentError(fmt::format("lease {} after Finish", lease.lease_id())));
  }
  // A lease that crossed a cancellation or the target's end on its way: its URLs are not started.
  if (phase_ != Phase::kRunning) return;
  untouched_ = false;
  outstanding_credit_ -=
      std::min<uint64_t>(outstanding_credit_, static_cast<uint64_t>(lease.url_size()));
  for (const std::string& url : lease.url()) {
    outstanding_bytes_ -= static_cast<int64_t>(UrlCost(url.size()));
  }
  std::vector<LeasedUrl> unfeedable;
  const absl::Status added = book_.Add(std::move(lease), unfeedable);
  for (const LeasedUrl& item : unfeedable) {
    Record r;
    r.index = item.index;
    r.outcome = Outcome::kInvalidUrl;
    r.error = fmt::format("a URL of {} bytes that cannot be one line of a target's input",
                          item.url.size());
    r.start_us = run_clock_.WallUsAt(clock_.Now());
    AddRecord(std::move(r), item.lease_id);
  }
  if (!added.ok()) {
    Fail(added);
    return;
  }
  FeedTarget();
}

void RunExecutor::Ack(uint64_t seq) {
  const absl::Status acked = outbox_.Ack(
      seq, [this](uint64_t lease_id, uint64_t count) { book_.Commit(lease_id, count); });
  CountStall();
  if (!acked.ok()) Fail(acked);
  FeedTarget();
  on_news_();
}

void RunExecutor::RequestFinish() {
  if (phase_ != Phase::kRunning) return;
  phase_ = Phase::kFinishing;
  FeedTarget();
}

void RunExecutor::Cancel(const std::string& reason) {
  if (phase_ == Phase::kStopping || phase_ == Phase::kEnded) return;
  cancelled_ = true;
  const std::string why = OneLine(reason, kMaxReasonBytes);
  LogEvent(spdlog::level::info, "run_cancelled", {{"run", settings_.run_id}, {"reason", why}},
           fmt::format("run {} is cancelled: {}", settings_.run_id, why));
  Stop();
}

void RunExecutor::Fail(absl::Status status) {
  if (phase_ == Phase::kEnded) return;
  if (failure_.ok()) failure_ = std::move(status);
  if (phase_ != Phase::kStopping) Stop();
}

void RunExecutor::Stop() {
  phase_ = Phase::kStopping;
  book_.DropWaiting();
  terminated_ = clock_.Now();
  target_.Terminate();
}

void RunExecutor::Attach(uint64_t last_committed_seq) {
  outstanding_credit_ = 0;
  outstanding_bytes_ = 0;
  bytes_granted_ = false;
  // What was committed is of a life of this agent before this run: it has given no batch.
  if (untouched_) outbox_.StartAfter(last_committed_seq);
  Ack(last_committed_seq);
  outbox_.Rewind();
}

CreditGrant RunExecutor::TakeCredit() {
  if (phase_ != Phase::kRunning || outbox_.stalled()) return {};
  CreditGrant grant;
  grant.bytes = credit_.GrantBytes(book_.held_bytes(), outstanding_bytes_);
  if (grant.bytes == 0) TellOfBound();
  // URLs alone, before any bytes, would be as many as one likes.
  if (grant.bytes == 0 && !bytes_granted_) return {};
  bytes_granted_ = true;
  outstanding_bytes_ += static_cast<int64_t>(grant.bytes);
  // What is held back for its host's sake leaves room for others.
  const uint64_t held = book_.held() - book_.held_back();
  grant.urls = credit_.Grant(rate_.per_second(), held, outstanding_credit_);
  outstanding_credit_ += grant.urls;
  return grant;
}

// The figures of such a run are not those of the concurrency that was asked for.
void RunExecutor::TellOfBound() {
  if (bound_told_ || credit_.GrantBytes(book_.held_bytes(), 0) > 0) return;
  // Of such URLs as are held, which is something: there is no room.
  const uint64_t room = book_.held() * credit_.max_bytes / book_.held_bytes();
  if (room >= settings_.concurrency) return;
  bound_told_ = true;
  LogEvent(spdlog::level::warn, "urls_bound",
           {{"run", settings_.run_id},
            {"room_urls", room},
            {"room_bytes", credit_.max_bytes},
            {"limit_bytes", settings_.memory_limit_bytes}},
           fmt::format("run {}: its URLs are so long that this agent takes about {} at a time, "
                       "fewer than the concurrency of {}: they may come to {} MiB, which is a "
                       "quarter of --memory-limit, and {} MiB at most",
                       settings_.run_id, room, settings_.concurrency, credit_.max_bytes >> 20,
                       kMaxHeldBytes >> 20));
}

void RunExecutor::FeedTarget() {
  const bool feeding = phase_ == Phase::kRunning || phase_ == Phase::kFinishing;
  if (!feeding || !target_.writable()) return;
  const size_t limit = credit_.FeedLimit(rate_.per_second());
  if (!outbox_.stalled() && book_.open() < limit && book_.waiting() > 0) {
    const SteadyTime now = clock_.Now();
    if (book_.open() == 0) last_life_ = now;
    std::string lines;
    fed_ += book_.TakeForFeeding(limit - book_.open(), kFeedBytes, run_clock_.WallUsAt(now), lines);
    if (!lines.empty()) target_.Feed(std::move(lines));
  }
  if (phase_ == Phase::kFinishing && book_.waiting() == 0 && !input_closed_) {
    input_closed_ = true;
    target_.CloseInput();
  }
}

void RunExecutor::OnOutput(std::string_view bytes) {
  const uint64_t before = read_;
  lines_.Feed(bytes, [this](std::string_view line) { OnLine(line); });
  if (read_ != before) last_life_ = clock_.Now();
  FeedTarget();
  on_news_();
}

void RunExecutor::OnLine(std::string_view line) {
  absl::StatusOr<TargetLine> parsed =
      line.starts_with('{') ? ParseJsonLine(line) : ParsePlainLine(line);
  if (!parsed.ok()) {
    CountUnparsable(line);
    return;
  }
  const std::optional<UrlBook::Closed> closed = book_.Close(parsed->url);
  if (!closed) {
    ++surplus_;
    return;
  }
  ++read_;
  parsed->record.index = closed->index;
  AddRecord(std::move(parsed->record), closed->lease_id);
}

void RunExecutor::CountUnparsable(std::string_view line) {
  ++unparsable_;
  bad_lines_.Append(line.substr(0, kEvidenceLineBytes));
  bad_lines_.Append("\n");
}

void RunExecutor::AddRecord(Record record, uint64_t lease_id) {
  if (record.error.size() > kMaxErrorTextBytes) record.error.resize(kMaxErrorTextBytes);
  for (std::string* text : {&record.remote_address, &record.http_version, &record.tls_version}) {
    if (text->size() > kMaxShortTextBytes) text->resize(kMaxShortTextBytes);
  }
  tally_.Add(record);
  outbox_.Add(std::move(record), lease_id, clock_.Now());
  CountStall();
}

void RunExecutor::OnExit(const TargetExit& exit) {
  exit_ = exit;
  if (!lines_.half_line().empty()) CountUnparsable(lines_.half_line());
  const bool early = phase_ == Phase::kRunning || book_.waiting() > 0;
  if (phase_ != Phase::kStopping && (early || book_.open() > 0)) {
    if (failure_.ok()) failure_ = absl::InternalError(OpenUrlText(exit));
  }
  // A cancelled target need not print what it did not start. Of any other end that leaves URLs open
  // the record says so; a hung target is one of these, though it was stopped by us.
  if (phase_ != Phase::kStopping || hung_) CloseCrashed();
  book_.CloseAll();
  book_.DropWaiting();
  phase_ = Phase::kEnded;
  outbox_.Flush();
  CountStall();
  on_news_();
}

std::string RunExecutor::OpenUrlText(const TargetExit& exit) const {
  return fmt::format("target {} {} with {} URLs open and {} not yet given to it",
                     settings_.target_name, DescribeExit(exit), book_.open(), book_.waiting());
}

void RunExecutor::CloseCrashed() {
  const std::string last_words = LastLine(exit_->stderr_tail);
  std::string text = fmt::format("target {} {}", settings_.target_name, DescribeExit(*exit_));
  if (!last_words.empty()) text += ": " + last_words;
  const int64_t now_us = run_clock_.WallUsAt(clock_.Now());
  for (const OpenUrl& open : book_.CloseAll()) {
    Record r;
    r.index = open.leased.index;
    r.outcome = Outcome::kClientCrashed;
    r.error = text;
    r.start_us = open.fed_us;
    r.duration_us = now_us - open.fed_us;
    AddRecord(std::move(r), open.leased.lease_id);
  }
}

void RunExecutor::Tick() {
  const SteadyTime now = clock_.Now();
  rate_.Update(read_, now);
  outbox_.Tick(now);
  CountStall();
  if (phase_ == Phase::kRunning || phase_ == Phase::kFinishing) CheckHang(now);
  CheckEnd(now);
  FeedTarget();
  on_news_();
}

void RunExecutor::CountStall() {
  const bool stalls = outbox_.stalled() && phase_ != Phase::kEnded;
  if (!stalls && !stalled_since_) return;  // the usual case, asked for each record
  const SteadyTime now = clock_.Now();
  if (stalled_since_) stalled_ += duration_cast<microseconds>(now - *stalled_since_);
  stalled_since_ = stalls ? std::optional(now) : std::nullopt;
}

void RunExecutor::CheckHang(SteadyTime now) {
  const auto patience = settings_.timeout + settings_.limits.hang_grace;
  if (book_.open() == 0 || now - last_life_ <= patience) return;
  hung_ = true;
  Fail(absl::DeadlineExceededError(fmt::format(
      "target {} gave no record for {} s with {} URLs open, and was killed", settings_.target_name,
      duration_cast<std::chrono::seconds>(now - last_life_).count(), book_.open())));
}

// SIGTERM for a target that does not end by itself, SIGKILL for one that ignores it.
void RunExecutor::CheckEnd(SteadyTime now) {
  if (phase_ == Phase::kEnded) return;
  if (phase_ == Phase::kFinishing && input_closed_ && book_.held() == 0) {
    if (!all_done_) all_done_ = now;
    if (!terminated_ && now - *all_done_ > settings_.limits.exit_grace) {
      spdlog::warn("target {} did not end at the end of its input; it gets SIGTERM",
                   settings_.target_name);
      terminated_ = now;
      target_.Terminate();
    }
  }
  if (terminated_ && !killed_ && now - *terminated_ > settings_.limits.terminate_grace) {
    killed_ = true;
    target_.Kill();
  }
}

void RunExecutor::FillProgress(v1::Progress& progress) {
  CountStall();
  progress.set_started(fed_);
  progress.set_done(read_);
  progress.set_in_flight(in_flight());
  progress.set_surplus_lines(surplus_);
  progress.set_unparsable_lines(unparsable_ + lines_.oversize_lines());
  progress.set_stalled_us(static_cast<uint64_t>(stalled_.count()));
  const TargetUsage usage = exit_ ? exit_->usage : target_.Usage();
  FillUsage(*progress.mutable_target(), usage);
  progress.set_engine_cpu_us(usage.engine_cpu_us);
}

uint32_t RunExecutor::in_flight() const {
  return std::min(static_cast<uint32_t>(book_.open()), settings_.concurrency);
}

v1::Finished RunExecutor::Totals() const {
  v1::Finished totals;
  FillUsage(*totals.mutable_target(), exit_->usage);
  totals.set_engine_cpu_us(exit_->usage.engine_cpu_us);
  totals.set_records(outbox_.records());
  totals.set_last_seq(outbox_.last_seq());
  totals.set_surplus_lines(surplus_);
  totals.set_unparsable_lines(unparsable_ + lines_.oversize_lines());
  totals.set_stalled_us(static_cast<uint64_t>(stalled_.count()));
  totals.set_target_exit_code(exit_->code);
  std::string text = exit_->stderr_tail;
  if (const std::string bad = bad_lines_.Text(); !bad.empty()) {
    text += fmt::format("{} output lines that are no record; the last ones:\n{}", unparsable_, bad);
  }
  totals.set_target_stderr(ValidUtf8(text));
  return totals;
}

std::optional<v1::AgentMessage> RunExecutor::Final() const {
  if (!exit_ || !outbox_.empty()) return std::nullopt;
  v1::AgentMessage message;
  if (failure_.ok()) {
    *message.mutable_finished() = Totals();
    return message;
  }
  v1::Failed& failed = *message.mutable_failed();
  failed.set_code(static_cast<int>(failure_.code()));
  failed.set_message(ValidUtf8(std::string(failure_.message())));
  *failed.mutable_totals() = Totals();
  failed.set_target_stderr(failed.totals().target_stderr());
  return message;
}

}  // namespace fetchbench::agent
