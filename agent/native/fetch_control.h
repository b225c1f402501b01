#pragma once

#include <boost/intrusive/list.hpp>
#include <boost/system/error_code.hpp>

#include "agent/native/deadline_wheel.h"
#include "agent/native/error_map.h"
#include "agent/native/errors.h"

namespace fetchbench::native {

// Something that waits and can be told to give up: its wait then ends soon, with any error.
class Abortable {
 public:
  virtual ~Abortable() = default;
  virtual void Abort() = 0;
};

// Ends one fetch from outside, at its deadline or when the run is cancelled: whatever the fetch
// waits for at that moment is aborted, and stop() says why. One worker's thread only.
class FetchControl final : public WheelTimer,
                           public boost::intrusive::list_base_hook<
                               boost::intrusive::tag<FetchControl>,
                               boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  void Stop(FetchErrc why) {
    if (stop_) return;
    stop_ = why;
    if (waiting_ != nullptr) waiting_->Abort();
  }

  void OnTimer() override { Stop(FetchErrc::kDeadline); }

  const boost::system::error_code& stop() const { return stop_; }

  Phase phase = Phase::kDns;

 private:
  friend class AbortScope;

  boost::system::error_code stop_;
  Abortable* waiting_ = nullptr;
};

// While it lives, stopping the fetch aborts `waiting`. Scopes may nest.
class AbortScope {
 public:
  AbortScope(FetchControl& control, Abortable& waiting)
      : control_(control), outer_(control.waiting_) {
    control_.waiting_ = &waiting;
  }
  ~AbortScope() { control_.waiting_ = outer_; }
  AbortScope(const AbortScope&) = delete;
  AbortScope& operator=(const AbortScope&) = delete;

 private:
  FetchControl& control_;
  Abortable* outer_;
};

}  // namespace fetchbench::native
