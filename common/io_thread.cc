#include "common/io_thread.h"

#include <pthread.h>

namespace fetchbench {

IoThread::IoThread(const std::string& name) : guard_(context_.get_executor()) {
  thread_ = std::thread([this] { context_.run(); });
  pthread_setname_np(thread_.native_handle(), name.substr(0, 15).c_str());
}

IoThread::~IoThread() { Join(); }

void IoThread::Join() {
  if (!thread_.joinable()) return;
  guard_.reset();
  thread_.join();
}

}  // namespace fetchbench
