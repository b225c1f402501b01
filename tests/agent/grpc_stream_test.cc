// The bridge between gRPC's callback API and coroutines, with a real server on loopback. The
// messages are those of the Agent service; what they say does not matter here.

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "common/grpc_client_stream.h"
#include "common/grpc_options.h"
#include "common/grpc_server_stream.h"
#include "common/io_thread.h"
#include "fetchbench/v1/agent.grpc.pb.h"
#include "tests/support/run_task.h"

namespace fetchbench {
namespace {

using test::IsReady;
using test::RunOn;
using Down = v1::CoordinatorMessage;
using Up = v1::AgentMessage;
using Client = ClientStream<Down, Up>;
using Server = ServerStream<Up, Down>;
using Behaviour = std::function<Task<>(std::shared_ptr<Server>)>;

Down Ack(uint64_t seq) {
  Down m;
  m.mutable_ack()->set_seq(seq);
  return m;
}

Up Credit(uint32_t urls) {
  Up m;
  m.mutable_credit()->set_urls(urls);
  return m;
}

Up Big(size_t bytes) {
  Up m;
  m.mutable_failed()->set_message(std::string(bytes, 'x'));
  return m;
}

Task<> Sleep(std::chrono::milliseconds time) {
  net::steady_timer timer(co_await net::this_coro::executor, time);
  co_await timer.async_wait(kAsTuple);
}

class Service final : public v1::Agent::CallbackService {
 public:
  Service(IoThread& loop, StreamLimits limits) : loop_(loop), limits_(limits) {}

  grpc::ServerBidiReactor<Down, Up>* Execute(grpc::CallbackServerContext* context) override {
    return Server::Accept(
        context, loop_.executor(),
        [this](Server stream) {
          ++opened;
          auto shared = std::make_shared<Server>(std::move(stream));
          net::co_spawn(loop_.executor(), behaviour(std::move(shared)),
                        [this](std::exception_ptr) { ++closed; });
        },
        limits_);
  }

  Behaviour behaviour;
  std::atomic<int> opened{0};
  std::atomic<int> closed{0};

 private:
  IoThread& loop_;
  StreamLimits limits_;
};

// Server and client, each with a loop of its own.
class GrpcStreamTest : public ::testing::Test {
 protected:
  void Serve(Behaviour behaviour, StreamLimits limits = {}) {
    service_ = std::make_unique<Service>(server_loop_, limits);
    service_->behaviour = std::move(behaviour);
    grpc::ServerBuilder builder;
    ApplyServerOptions(builder);
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    channel_ =
        grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port_),
                                  grpc::InsecureChannelCredentials(), ClientChannelArguments());
    stub_ = v1::Agent::NewStub(channel_);
  }

  Client Open(StreamLimits limits = {}) {
    return Client::Start(
        client_loop_.executor(),
        [this](grpc::ClientContext* context, auto* reactor) {
          stub_->async()->Execute(context, reactor);
        },
        limits);
  }

  // Runs a client coroutine to its end; a test that hangs fails.
  template <typename T>
  T Run(Task<T> task) {
    auto result = RunOn(client_loop_, std::move(task));
    if (!IsReady(result)) {
      ADD_FAILURE() << "the client hangs";
      std::_Exit(1);
    }
    return result.get();
  }

  void ShutDown() {
    if (server_) server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
    server_.reset();
  }

  void TearDown() override {
    ShutDown();
    server_loop_.Join();  // hangs when a call was not finished
    client_loop_.Join();
    if (service_) {
      EXPECT_EQ(service_->opened, service_->closed);
    }
  }

  IoThread server_loop_{"server"};
  IoThread client_loop_{"client"};
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Agent::Stub> stub_;
  int port_ = 0;
};

Task<> Echo(std::shared_ptr<Server> stream) {
  while (true) {
    absl::StatusOr<Down> in = co_await stream->Read();
    if (!in.ok()) break;
    const absl::Status written =
        co_await stream->Write(Credit(static_cast<uint32_t>(in->ack().seq())));
    if (!written.ok()) break;
  }
  co_await stream->Finish(absl::OkStatus());
}

constexpr uint64_t kMany = 5'000;

Task<> WriteMany(std::shared_ptr<Client> stream) {
  for (uint64_t i = 1; i <= kMany; ++i) {
    const absl::Status s = co_await stream->Write(Ack(i));
    EXPECT_TRUE(s.ok()) << s;
  }
  stream->CloseWrites();
}

Task<absl::Status> ExpectMany(std::shared_ptr<Client> stream) {
  for (uint64_t i = 1; i <= kMany; ++i) {
    absl::StatusOr<Up> in = co_await stream->Read();
    if (!in.ok()) co_return in.status();
    EXPECT_EQ(in->credit().urls(), i);
  }
  absl::StatusOr<Up> end = co_await stream->Read();
  co_return end.status();
}

TEST_F(GrpcStreamTest, ThousandsOfMessagesPassBothWaysInOrder) {
  Serve(Echo);
  auto stream = std::make_shared<Client>(Open());
  auto writing = RunOn(client_loop_, WriteMany(stream));
  EXPECT_TRUE(IsEndOfStream(Run(ExpectMany(stream))));
  EXPECT_TRUE(IsReady(writing));
  stream.reset();
}

Task<> FinishAtOnce(std::shared_ptr<Server> stream) {
  co_await stream->Finish(absl::ResourceExhaustedError("busy with run R"));
}

Task<absl::Status> ReadOne(std::shared_ptr<Client> stream) {
  absl::StatusOr<Up> in = co_await stream->Read();
  co_return in.status();
}

TEST_F(GrpcStreamTest, ReadGivesTheServersFinalStatus) {
  Serve(FinishAtOnce);
  auto stream = std::make_shared<Client>(Open());
  const absl::Status status = Run(ReadOne(stream));
  EXPECT_EQ(status, absl::ResourceExhaustedError("busy with run R"));
  EXPECT_EQ(Run(ReadOne(stream)), status) << "the end stays the end";
}

Task<absl::Status> WriteUntilFailure(std::shared_ptr<Client> stream) {
  while (true) {
    const absl::Status s = co_await stream->Write(Ack(1));
    if (!s.ok()) co_return s;
  }
}

TEST_F(GrpcStreamTest, WritesFailOnceTheServerHasFinished) {
  Serve(FinishAtOnce);
  auto stream = std::make_shared<Client>(Open());
  EXPECT_FALSE(Run(WriteUntilFailure(stream)).ok());
  EXPECT_EQ(Run(ReadOne(stream)).code(), absl::StatusCode::kResourceExhausted);
}

Task<> SendThenFinish(std::shared_ptr<Server> stream) {
  for (uint32_t i = 0; i < 100; ++i) co_await stream->Write(Credit(i));
  co_await stream->Finish(absl::OkStatus());
}

Task<absl::Status> FinishClient(std::shared_ptr<Client> stream) { return stream->Finish(); }

TEST_F(GrpcStreamTest, FinishDropsWhatStillComesAndGivesTheFinalStatus) {
  Serve(SendThenFinish);
  EXPECT_TRUE(Run(FinishClient(std::make_shared<Client>(Open()))).ok());
}

Task<> ReadUntilEnd(std::shared_ptr<Server> stream,
                    std::shared_ptr<std::promise<absl::Status>> end) {
  while (true) {
    absl::StatusOr<Down> in = co_await stream->Read();
    if (in.ok()) continue;
    end->set_value(in.status());
    break;
  }
}

TEST_F(GrpcStreamTest, HalfCloseAndCancelLookDifferentToTheServer) {
  auto end = std::make_shared<std::promise<absl::Status>>();
  // By value: the second call may reach the server after this test's end.
  Serve([end, calls = std::make_shared<int>(0)](std::shared_ptr<Server> s) {
    const bool first = (*calls)++ == 0;
    return ReadUntilEnd(std::move(s), first ? end : std::make_shared<std::promise<absl::Status>>());
  });
  EXPECT_EQ(Run(FinishClient(std::make_shared<Client>(Open()))).code(),
            absl::StatusCode::kCancelled)
      << "the server dropped its handle";
  EXPECT_TRUE(IsEndOfStream(end->get_future().get()));

  auto stream = std::make_shared<Client>(Open());
  net::post(client_loop_.context(), [stream] { stream->Cancel(); });
  EXPECT_EQ(Run(ReadOne(stream)).code(), absl::StatusCode::kCancelled);
}

// Cancels at a moment that depends on `n`, from before the call started to after messages have
// passed.
Task<absl::Status> CancelAfter(std::shared_ptr<Client> stream, int n) {
  for (int i = 0; i < n / 2; ++i) {
    const absl::Status written = co_await stream->Write(Ack(1));
    if (!written.ok()) co_return written;
    if (i % 2 == 1) {
      absl::StatusOr<Up> in = co_await stream->Read();
      if (!in.ok()) co_return in.status();
    }
  }
  if (n % 2 == 1) co_await Sleep(std::chrono::milliseconds(1));
  stream->Cancel();
  while (true) {
    absl::StatusOr<Up> in = co_await stream->Read();
    if (!in.ok()) co_return in.status();
  }
}

TEST_F(GrpcStreamTest, CancelWorksAtEveryPhase) {
  Serve(Echo);
  for (int n = 0; n < 40; ++n) {
    EXPECT_EQ(Run(CancelAfter(std::make_shared<Client>(Open()), n)).code(),
              absl::StatusCode::kCancelled);
  }
}

Task<> OpenAndDrop(std::function<Client()> open, int n) {
  std::optional<Client> stream(open());
  for (int i = 0; i < n; ++i) co_await stream->Write(Ack(1));
  stream.reset();
}

TEST_F(GrpcStreamTest, DroppingTheHandleEndsTheCall) {
  Serve(Echo);
  for (int n = 0; n < 20; ++n) Run(OpenAndDrop([this] { return Open(); }, n));
}

Task<> DropTheHandle(std::shared_ptr<Server> stream) {
  co_await stream->Read();
  stream.reset();
}

TEST_F(GrpcStreamTest, ServerThatDropsItsHandleCancelsTheCall) {
  Serve(DropTheHandle);
  auto stream = std::make_shared<Client>(Open());
  EXPECT_FALSE(Run(WriteUntilFailure(stream)).ok());
  EXPECT_EQ(Run(ReadOne(stream)).code(), absl::StatusCode::kCancelled);
}

Task<> CancelByServer(std::shared_ptr<Server> stream) {
  co_await stream->Write(Credit(1));
  stream->Cancel();
  const absl::StatusOr<Down> in = co_await stream->Read();
  EXPECT_EQ(in.status().code(), absl::StatusCode::kCancelled);
  const absl::Status written = co_await stream->Write(Credit(2));
  EXPECT_FALSE(written.ok());
}

Task<absl::Status> ReadToEnd(std::shared_ptr<Client> stream) {
  while (true) {
    absl::StatusOr<Up> in = co_await stream->Read();
    if (!in.ok()) co_return in.status();
  }
}

TEST_F(GrpcStreamTest, ServerCancelsAndNothingFollows) {
  Serve(CancelByServer);
  EXPECT_EQ(Run(ReadToEnd(std::make_shared<Client>(Open()))).code(), absl::StatusCode::kCancelled);
}

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

TEST_F(GrpcStreamTest, ServerShutdownEndsTheClientsRead) {
  Serve(Echo);
  auto stream = std::make_shared<Client>(Open());
  auto reading = RunOn(client_loop_, ReadToEnd(stream));
  std::thread stopper([this] { ShutDown(); });
  EXPECT_TRUE(IsReady(reading));
  EXPECT_FALSE(reading.get().ok());
  stopper.join();
}

TEST_F(GrpcStreamTest, NobodyListening) {
  Serve(Echo);
  ShutDown();
  auto stream = std::make_shared<Client>(Open());
  EXPECT_EQ(Run(ReadOne(stream)).code(), absl::StatusCode::kUnavailable);
}

Task<absl::Status> ReadWithin(std::shared_ptr<Client> stream, std::chrono::milliseconds time) {
  absl::StatusOr<Up> in = co_await stream->Read(std::chrono::steady_clock::now() + time);
  co_return in.status();
}

Task<absl::StatusOr<Up>> WriteAndRead(std::shared_ptr<Client> stream) {
  co_await stream->Write(Ack(7));
  co_return co_await stream->Read();
}

TEST_F(GrpcStreamTest, ReadDeadlineLeavesTheCallAlive) {
  Serve(Echo);
  auto stream = std::make_shared<Client>(Open());
  EXPECT_EQ(Run(ReadWithin(stream, std::chrono::milliseconds(20))).code(),
            absl::StatusCode::kDeadlineExceeded);
  const absl::StatusOr<Up> in = Run(WriteAndRead(stream));
  ASSERT_TRUE(in.ok()) << in.status();
  EXPECT_EQ(in->credit().urls(), 7);
}

Task<absl::Status> WriteOne(std::shared_ptr<Client> stream) {
  co_return co_await stream->Write(Ack(1));
}

// Both start before the loop can hear of the first one's end.
Task<std::pair<absl::Status, absl::Status>> TwoWritesAtOnce(std::shared_ptr<Client> stream) {
  const auto executor = co_await net::this_coro::executor;
  auto first = net::co_spawn(executor, WriteOne(stream), net::use_future);
  auto second = net::co_spawn(executor, WriteOne(stream), net::use_future);
  const std::chrono::milliseconds now(0);
  while (!IsReady(first, now) || !IsReady(second, now))
    co_await Sleep(std::chrono::milliseconds(1));
  co_return std::pair(first.get(), second.get());
}

TEST_F(GrpcStreamTest, SecondWriteAtOnceIsRefusedAndNotPassedOn) {
  Serve(Echo);
  auto stream = std::make_shared<Client>(Open());
  const auto [first, second] = Run(TwoWritesAtOnce(stream));
  EXPECT_TRUE(first.ok()) << first;
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(GrpcStreamTest, ManyCallsAtOnce) {
  Serve(Echo);
  std::vector<std::shared_ptr<Client>> streams;
  std::vector<std::future<absl::StatusOr<Up>>> answers;
  for (int i = 0; i < 50; ++i) {
    streams.push_back(std::make_shared<Client>(Open()));
    answers.push_back(RunOn(client_loop_, WriteAndRead(streams.back())));
  }
  for (auto& answer : answers) {
    ASSERT_TRUE(IsReady(answer));
    EXPECT_TRUE(answer.get().ok());
  }
}

}  // namespace
}  // namespace fetchbench
