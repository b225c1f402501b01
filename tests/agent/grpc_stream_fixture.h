#pragma once

// Server and client of the bridge between gRPC's callback API and coroutines, on loopback. The
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

namespace fetchbench::test {
using Down = v1::CoordinatorMessage;
using Up = v1::AgentMessage;
using Client = ClientStream<Down, Up>;
using Server = ServerStream<Up, Down>;
using Behaviour = std::function<Task<>(std::shared_ptr<Server>)>;

inline Down Ack(uint64_t seq) {
  Down m;
  m.mutable_ack()->set_seq(seq);
  return m;
}

inline Up Credit(uint32_t urls) {
  Up m;
  m.mutable_credit()->set_urls(urls);
  return m;
}

inline Up Big(size_t bytes) {
  Up m;
  m.mutable_failed()->set_message(std::string(bytes, 'x'));
  return m;
}

inline Task<> Sleep(std::chrono::milliseconds time) {
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

// Reads to the stream's end and gives its status.
inline Task<absl::Status> ReadToEnd(std::shared_ptr<Client> stream) {
  while (true) {
    absl::StatusOr<Up> in = co_await stream->Read();
    if (!in.ok()) co_return in.status();
  }
}

}  // namespace fetchbench::test
