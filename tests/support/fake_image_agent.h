#pragma once

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "fetchbench/v1/agent.grpc.pb.h"
#include "tests/support/loopback_server.h"

namespace fetchbench::test {

// What a FakeImageAgent has for an Engine; several may share one. Its mutex guards all.
struct FakeEngine {
  std::mutex mutex;
  std::string image_id;  // empty: it has no image
  std::string nameless;  // another one, which has lost its name; empty: there is none
};

struct FakeImageScript {
  std::string architecture = "x86_64";
  std::string builds{};          // the id of what it builds; empty: its builds fail
  int export_pieces = 3;         // of what it hands out
  size_t export_bytes = 0;       // of each piece, at least
  int export_breaks_after = -1;  // pieces; -1: never
  bool refuse_load = false;      // what is sent to it is not taken
  std::string tells{};           // the id that it says to have in the end; empty: the truth
  // It takes nothing of what it asked to be sent, until the call is cancelled.
  bool takes_nothing = false;
  // What it says at once to who looks, and to who wants it ready; it keeps to no protocol.
  std::optional<v1::PrepareProgress> to_look{};
  std::optional<v1::PrepareProgress> to_prepare{};
  int says_first = 0;                          // words of progress before anything else
  std::optional<grpc::Status> ends_prepare{};  // at once, with this
};

// An agent that has, builds, hands out and takes images, which are nothing but their ids. A real
// gRPC server. Thread-safe.
class FakeImageAgent final : public v1::Agent::Service {
 public:
  FakeImageAgent(FakeImageScript script, std::shared_ptr<FakeEngine> engine)
      : script_(std::move(script)), engine_(std::move(engine)), server_(*this) {}
  ~FakeImageAgent() override { End(); }

  // It is gone.
  void End() { server_.End(); }
  // A run is under way: it neither hands out, builds nor takes an image.
  void SetBusy(bool busy) { busy_ = busy; }
  // Somebody waits for it to take something.
  bool stalls() const { return stalls_; }

  const std::string& address() const { return server_.address(); }
  int builds() const { return Locked(builds_); }
  int exports() const { return Locked(exports_); }
  int loads() const { return Locked(loads_); }
  std::string image() const { return Locked(engine_->image_id); }

  grpc::Status Prepare(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::PrepareProgress, v1::PrepareRequest>* stream) override {
    v1::PrepareRequest request;
    if (!stream->Read(&request)) return grpc::Status::CANCELLED;
    const v1::PrepareStart start = request.start();
    v1::PrepareProgress last;
    if (script_.ends_prepare) return *script_.ends_prepare;
    v1::PrepareProgress progress;
    progress.set_message("at work");
    for (int i = 0; i < script_.says_first && stream->Write(progress); ++i) {
    }
    if (const auto& says = start.look() ? script_.to_look : script_.to_prepare) {
      stream->Write(*says);
      while (stream->Read(&request)) {
      }
      return grpc::Status::OK;
    }
    if (start.look()) {
      last.mutable_found()->set_architecture(script_.architecture);
      last.mutable_found()->set_image_id(Has(start.image_id()) ? start.image_id() : image());
      stream->Write(last);
      return grpc::Status::OK;
    }
    const grpc::Status there = start.image_id().empty() ? Build(*context, *stream)
                                                        : Take(*context, *stream, start.image_id());
    if (!there.ok()) return there;
    last.set_ready(true);
    last.mutable_facts()->set_name(start.target().name());
    last.mutable_facts()->set_image_digest(script_.tells.empty() ? image() : script_.tells);
    stream->Write(last);
    return grpc::Status::OK;
  }

  grpc::Status ExportImage(
      grpc::ServerContext* /*context*/,
      grpc::ServerReaderWriter<v1::ImagePiece, v1::ExportImageRequest>* stream) override {
    v1::ExportImageRequest request;
    if (!stream->Read(&request)) return grpc::Status::CANCELLED;
    if (busy_) return Busy();
    const std::lock_guard lock(engine_->mutex);
    ++exports_;
    for (int i = 0; i < script_.export_pieces; ++i) {
      if (i == script_.export_breaks_after) return {grpc::StatusCode::UNAVAILABLE, "it broke"};
      v1::ImagePiece piece;
      std::string data = std::string(i == 0 ? "" : "and ") + engine_->image_id + "\n";
      if (data.size() < script_.export_bytes && i > 0 && i + 1 < script_.export_pieces) {
        data.resize(script_.export_bytes, '.');
      }
      piece.set_data(std::move(data));
      stream->Write(piece);
    }
    return grpc::Status::OK;
  }

 private:
  using PrepareCall = grpc::ServerReaderWriter<v1::PrepareProgress, v1::PrepareRequest>;

  template <typename T>
  T Locked(const T& value) const {
    const std::lock_guard lock(engine_->mutex);
    return value;
  }

  bool Has(const std::string& id) const {
    const std::lock_guard lock(engine_->mutex);
    return !id.empty() && engine_->nameless == id;
  }

  static grpc::Status Busy() { return {grpc::StatusCode::RESOURCE_EXHAUSTED, "busy with a run"}; }

  void Stall(const grpc::ServerContext& context) {
    stalls_ = true;
    while (!context.IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  grpc::Status Build(const grpc::ServerContext& context, PrepareCall& stream) {
    if (!image().empty()) return grpc::Status::OK;
    if (busy_) return Busy();
    v1::PrepareProgress wanted;
    wanted.set_send_context(true);
    stream.Write(wanted);
    if (script_.takes_nothing) Stall(context);
    v1::PrepareRequest piece;
    while (stream.Read(&piece)) {
    }
    const std::lock_guard lock(engine_->mutex);
    ++builds_;
    if (script_.builds.empty()) return {grpc::StatusCode::FAILED_PRECONDITION, "a step failed"};
    engine_->image_id = script_.builds;
    return grpc::Status::OK;
  }

  grpc::Status Take(const grpc::ServerContext& context, PrepareCall& stream,
                    const std::string& id) {
    if (Has(id)) {
      const std::lock_guard lock(engine_->mutex);
      std::swap(engine_->image_id, engine_->nameless);
    }
    if (image() == id) return grpc::Status::OK;
    if (busy_) return Busy();
    v1::PrepareProgress wanted;
    wanted.set_send_image(true);
    stream.Write(wanted);
    if (script_.takes_nothing) Stall(context);
    std::string archive;
    v1::PrepareRequest piece;
    while (stream.Read(&piece)) archive += piece.image();
    const std::lock_guard lock(engine_->mutex);
    ++loads_;
    const bool whole = archive.starts_with(id + "\n") && archive.ends_with("and " + id + "\n");
    if (script_.refuse_load || !whole) return {grpc::StatusCode::INVALID_ARGUMENT, "not taken"};
    engine_->image_id = id;
    return grpc::Status::OK;
  }

  const FakeImageScript script_;
  const std::shared_ptr<FakeEngine> engine_;
  int builds_ = 0;
  int exports_ = 0;
  int loads_ = 0;
  std::atomic<bool> busy_{false};
  std::atomic<bool> stalls_{false};
  LoopbackServer server_;
};

}  // namespace fetchbench::test
