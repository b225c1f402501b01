#include "common/docker/attach_stream.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace fetchbench::docker {
namespace {

constexpr size_t kReadBytes = 256 << 10;

}  // namespace

AttachStream::AttachStream(std::shared_ptr<EngineConnection> connection)
    : connection_(std::move(connection)), buffer_(std::make_unique<std::string>()) {}

AttachStream::~AttachStream() { Close(); }

Task<absl::Status> AttachStream::Read(StreamDemux::Sink sink) {
  const std::shared_ptr<EngineConnection> connection = connection_;
  const absl::Status nonsense =
      absl::DataLossError(connection->what() + ": the Engine's stream makes no sense");
  // What came together with the answer's head.
  if (connection->buffer().size() > 0) {
    const auto data = connection->buffer().cdata();
    const bool good = demux_.Feed({static_cast<const char*>(data.data()), data.size()}, sink);
    connection->buffer().consume(data.size());
    co_return good ? absl::OkStatus() : nonsense;
  }
  if (buffer_->empty()) buffer_->resize(kReadBytes);
  const auto [error, n] =
      co_await connection->socket().async_read_some(net::buffer(*buffer_), kAsTuple);
  if (error == net::error::eof) {
    co_return absl::OutOfRangeError(connection->what() + ": the output ended");
  }
  if (error) co_return connection->Explain(error);
  if (!demux_.Feed(std::string_view(buffer_->data(), n), sink)) co_return nonsense;
  co_return absl::OkStatus();
}

Task<absl::Status> AttachStream::Write(std::string bytes) {
  const std::shared_ptr<EngineConnection> connection = connection_;
  const auto [error, n] =
      co_await net::async_write(connection->socket(), net::buffer(bytes), kAsTuple);
  if (error) co_return connection->Explain(error);
  co_return absl::OkStatus();
}

void AttachStream::CloseInput() {
  error_code ignored;
  connection_->socket().shutdown(EngineConnection::Socket::shutdown_send, ignored);
}

void AttachStream::Close() {
  if (connection_) connection_->Close();
}

}  // namespace fetchbench::docker
