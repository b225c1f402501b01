#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <string>
#include <thread>

#include "common/net.h"

namespace fetchbench {

// The control loop of a program: one io_context, one thread. Everything that is spawned on it needs
// no locks.
class IoThread {
 public:
  // `name` is what `top -H` shows; at most 15 characters.
  explicit IoThread(const std::string& name);
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  net::io_context& context() { return context_; }
  net::io_context::executor_type executor() { return context_.get_executor(); }

  // Lets the loop run until nothing is left to do, then joins. Blocks while coroutines or gRPC
  // streams are still alive: end them first. Not from the loop itself. Idempotent.
  void Join();

 private:
  net::io_context context_{1};  // one thread; posting from gRPC's threads stays safe
  net::executor_work_guard<net::io_context::executor_type> guard_;
  std::thread thread_;
};

}  // namespace fetchbench
