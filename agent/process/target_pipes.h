#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "agent/process/pipe.h"
#include "agent/text_tail.h"
#include "common/clock.h"
#include "common/net.h"
#include "common/wakeup.h"

namespace fetchbench::agent {

// Of a target's standard error, for reports.
inline constexpr size_t kStderrTailBytes = 8 << 10;

// The pipes of a target's standard streams, whichever way it was started. Output is always read, so
// that a target never waits for us. On the loop, in a shared_ptr: its coroutines hold it.
class TargetPipes : public std::enable_shared_from_this<TargetPipes> {
 public:
  // Called on the loop, never after Close.
  struct Events {
    std::function<void(std::string_view)> output;  // bytes of its standard output, in any pieces
    std::function<void()> writable;                // all that was fed is in the pipe
  };

  TargetPipes(const net::any_io_executor& loop, OurEnds ends, Events events);
  void Begin();

  // Writes to its standard input in the background. Only when writable().
  void Feed(std::string bytes);
  bool writable() const { return input_.is_open() && !writing_ && !close_wanted_; }
  // End of file on its standard input, after what was fed.
  void CloseInput();

  // Until standard output and error are at their end; false: the deadline passed first.
  static Task<bool> WaitDrained(std::shared_ptr<TargetPipes> self, SteadyTime deadline);
  // At once; nothing is read or written any more.
  void Close();

  std::string StderrTail() const { return stderr_.Text(); }

 private:
  using Self = std::shared_ptr<TargetPipes>;

  static Task<> WriteInput(Self self, std::string bytes);
  static Task<> ReadOutput(Self self);
  static Task<> ReadErrors(Self self);
  void OneDrained();

  net::any_io_executor loop_;
  net::posix::stream_descriptor input_;
  net::posix::stream_descriptor output_;
  net::posix::stream_descriptor errors_;
  const Events events_;
  Wakeup drained_;
  TextTail stderr_{kStderrTailBytes};
  int open_outputs_ = 2;
  bool writing_ = false;
  bool close_wanted_ = false;
  bool closed_ = false;
};

}  // namespace fetchbench::agent
