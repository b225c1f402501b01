#include "coordinator/run/commit_pipe.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "common/blocking.h"

namespace fetchbench::coordinator {

absl::StatusOr<std::shared_ptr<CommitPipe>> CommitPipe::Create(
    net::any_io_executor loop, const std::string& store_path, int64_t timeout_us,
    std::optional<StoredRecords> stored) {
  const bool exists = stored.has_value();
  std::shared_ptr<CommitPipe> pipe(new CommitPipe(
      std::move(loop), exists ? std::move(stored->aggregator) : Aggregator(timeout_us)));
  if (exists) pipe->committed_ = stored->recorded.count();
  const std::weak_ptr<CommitPipe> weak = pipe;
  const net::any_io_executor executor = pipe->loop_;
  RunStore::Callbacks callbacks;
  callbacks.committed = [weak, executor](std::vector<CommitBatch> batches) {
    net::post(executor, [weak, batches = std::move(batches)]() mutable {
      if (const auto self = weak.lock()) self->OnCommitted(std::move(batches));
    });
  };
  callbacks.failed = [weak, executor](const absl::Status& why) {
    net::post(executor, [weak, why] {
      if (const auto self = weak.lock()) self->events_.store_failed(why);
    });
  };
  auto store = exists ? RunStore::Open(store_path, std::move(callbacks))
                      : RunStore::Create(store_path, std::move(callbacks));
  if (!store.ok()) return store.status();
  pipe->store_ = *std::move(store);
  return pipe;
}

void CommitPipe::Print(int fd, RecordStream::Style style, TextStyle text_style) {
  const std::weak_ptr<CommitPipe> weak = weak_from_this();
  RecordStream::Callbacks callbacks;
  callbacks.written = [weak, executor = loop_](size_t records) {
    net::post(executor, [weak, records] {
      if (const auto self = weak.lock()) self->RowsDone(records);
    });
  };
  callbacks.broken = [weak, executor = loop_](const absl::Status& why) {
    net::post(executor, [weak, why] {
      if (const auto self = weak.lock()) self->events_.reader_gone(why);
    });
  };
  stream_ = std::make_unique<RecordStream>(fd, style, text_style, std::move(callbacks));
}

void CommitPipe::Push(CommitBatch batch) {
  rows_in_flight_ += batch.records.size();
  store_->Push(std::move(batch));
}

void CommitPipe::OnCommitted(std::vector<CommitBatch> batches) {
  size_t done = 0;  // with a stream, those that it has to print yet are not
  for (CommitBatch& batch : batches) {
    const size_t rows = batch.records.size();
    committed_ += rows;
    for (const Record& record : batch.records) aggregator_.Add(record);
    events_.committed(batch.agent, batch.epoch, batch.seq, rows);
    if (stream_ && rows > 0) {
      stream_->Push(std::move(batch));
    } else {
      done += rows;
    }
  }
  RowsDone(done);
}

void CommitPipe::RowsDone(size_t rows) {
  rows_in_flight_ -= rows;
  events_.moved();
}

Task<CommitPipe::Closed> CommitPipe::Close(std::shared_ptr<CommitPipe> self, bool hurry,
                                           bool build_index) {
  RunStore* store = self->store_.get();
  RecordStream* stream = self->stream_.get();
  const auto close = [store, stream, hurry, build_index] {
    Closed closed;
    if (stream != nullptr && hurry) stream->Abandon();
    if (stream != nullptr) closed.output = stream->Finish();
    if (absl::IsCancelled(closed.output)) closed.output = absl::OkStatus();
    closed.store = store->Finish(build_index);
    return closed;
  };
  co_return co_await RunBlocking(self->loop_, close);
}

}  // namespace fetchbench::coordinator
