#include "coordinator/run/list_intake.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <utility>

#include "common/blocking.h"
#include "coordinator/run/spool_scan.h"
#include "coordinator/web/origin_client.h"

namespace fetchbench::coordinator {
namespace {

constexpr std::chrono::milliseconds kSettlePoll{2};

// Of the spool; with what to do when it is damaged.
absl::Status Advised(absl::Status status) {
  if (!absl::IsDataLoss(status)) return status;
  return absl::DataLossError(fmt::format(
      "{}, and what is left of the run cannot be fetched; what it has recorded stays in "
      "records.db beside it. Put the file back if there is a copy of it, else begin a "
      "new run",
      std::string(status.message())));
}

}  // namespace

ListIntake::ListIntake(net::any_io_executor loop, const RunOptions& options, const Clock& clock,
                       Events events)
    : loop_(std::move(loop)),
      options_(options),
      clock_(clock),
      events_(std::move(events)),
      changed_(loop_),
      pause_(loop_) {}

ListIntake::~ListIntake() {
  if (fd_ >= 0 && fd_ != STDIN_FILENO) close(fd_);
}

std::string ListIntake::name() const {
  return options_.urls == "-" ? "standard input" : options_.urls;
}

// With the simulated web, so many hosts get their certificates before the clock starts.
size_t ListIntake::MaxHosts() const {
  return options_.web == Web::kSim ? OriginClient::kMaxCertificates : 0;
}

absl::Status ListIntake::Open() {
  const auto fd = OpenUrlList(options_.urls);
  if (!fd.ok()) return fd.status();
  fd_ = *fd;
  if (options_.urls == "-" && isatty(STDIN_FILENO) == 1) {
    events_.say("Reading URLs from the terminal, one a line; Ctrl-D ends the list.");
  }
  return absl::OkStatus();
}

absl::Status ListIntake::Start(const std::string& path) {
  auto spool = UrlSpool::Create(path);
  if (!spool.ok()) {
    status_ = spool.status();
    return spool.status();
  }
  spool_ = *std::move(spool);
  net::co_spawn(loop_, Load(), net::detached);
  return absl::OkStatus();
}

Task<> ListIntake::Load() {
  LoadRequest request;
  request.fd = fd_;
  request.name = name();
  request.limit = options_.limit;
  // An address in the list would be connected to past the simulated DNS: on the real web.
  request.hosts = options_.web == Web::kSim ? Hosts::kNames : Hosts::kAll;
  request.max_hosts = MaxHosts();
  request.wall_us = [this] { return clock_.WallUs(); };
  request.on_complaint = events_.say;
  request.on_invalid = [this](CommitBatch batch) {
    // On the loader's thread: the loop takes the batch, and lets us go on when there is room.
    auto taken = std::make_shared<std::promise<void>>();
    net::post(loop_, [this, taken, batch = std::move(batch)]() mutable {
      events_.invalid(std::move(batch), [taken] { taken->set_value(); });
    });
    taken->get_future().wait();
  };
  const auto load = [this, &request] { return LoadList(request, stop_, *spool_, list_); };
  absl::Status status = co_await RunBlocking(loop_, load);
  if (status.ok() && list_.counts.urls == 0) {
    status = absl::InvalidArgumentError(
        fmt::format("the URL list {} holds no URL, only blank lines and comments if any", name()));
  }
  if (status.ok()) status = co_await Settle();
  remaining_ = spool_->remaining();
  status_ = status;
  changed_.Notify();
}

// A run that counts as loaded has the records of its invalid lines: nothing else knows of them.
Task<absl::Status> ListIntake::Settle() {
  while (!events_.settled(list_.counts)) {
    co_await pause_.WaitUntil(std::chrono::steady_clock::now() + kSettlePoll);
  }
  co_return co_await events_.loaded(list_.counts);
}

Task<absl::Status> ListIntake::Reopen(std::string path, uint64_t urls, uint64_t invalid,
                                      const IndexSet& recorded) {
  auto spool = UrlSpool::Open(path);
  status_ = Advised(spool.status());
  if (!spool.ok()) co_return *status_;
  spool_ = *std::move(spool);
  const auto scan = [this, &recorded] { return ScanSpool(*spool_, recorded, MaxHosts()); };
  SpoolScan found = co_await RunBlocking(loop_, scan);
  if (!found.status.ok()) co_return Advised(found.status);
  if (found.urls != urls - invalid || found.open + recorded.count() != urls) {
    co_return Advised(spool_->Damaged(fmt::format(
        "or records.db is: they do not make up the run's list of {} URLs and {} lines that are "
        "none; {} URLs are in it, {} of them without a record; there are {} records",
        urls - invalid, invalid, found.urls, found.open, recorded.count())));
  }
  remaining_ = std::move(found.remaining);
  list_.hosts = std::move(found.hosts);
  list_.all_hosts = found.all_hosts;
  list_.counts.urls = urls;
  list_.counts.invalid = invalid;
  co_return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const UrlChunk>> ListIntake::Take(uint32_t partition) {
  auto chunk = spool_->Take(partition);
  if (!chunk.ok()) return Advised(chunk.status());
  return chunk;
}

Task<absl::Status> ListIntake::WaitLoaded(std::function<bool()> stopped) {
  while (!status_ && !stopped()) co_await changed_.WaitUntil();
  if (!status_) co_return absl::OkStatus();  // stopped; WaitEnded waits for the thread
  co_return *status_;
}

void ListIntake::Stop() {
  stop_ = true;
  changed_.Notify();
}

Task<> ListIntake::WaitEnded() {
  stop_ = true;
  while (!status_) co_await changed_.WaitUntil();
}

}  // namespace fetchbench::coordinator
