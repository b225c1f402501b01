#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/net.h"
#include "coordinator/cli/exit_code.h"
#include "coordinator/cli/options.h"
#include "coordinator/host/stop_signals.h"
#include "coordinator/run/cancel_run.h"
#include "coordinator/run/list_intake.h"
#include "coordinator/run/run_ending.h"
#include "coordinator/run/run_engine.h"
#include "coordinator/run/run_folder.h"
#include "coordinator/run/run_journal.h"
#include "coordinator/run/run_once.h"
#include "coordinator/run/run_stage.h"
#include "coordinator/run/run_view.h"
#include "coordinator/run/take_up_run.h"
#include "coordinator/ui/progress_display.h"
#include "coordinator/ui/terminal.h"

namespace fetchbench::coordinator {

// One run, from the first line to its result: sets up the web and the agents, reads the list
// meanwhile, feeds, drains, sums up; or goes on with one of an earlier coordinator. See RunOnce. On
// the program's main thread, whose io_context is the control loop: children die with the thread
// that started them.
class RunController {
 public:
  // All outlive the controller. `error` is where the live display goes (standard error).
  RunController(net::io_context& loop, const RunOptions& options, const Clock& clock,
                ProgressDisplay& display, TextStyle stdout_style, RunPresentation presentation,
                std::optional<TakenUpRun> taken_up);

  // Never throws; what goes wrong is said on standard error.
  Task<> Run();
  // Once, after Run.
  RunResult TakeResult() { return std::move(result_); }

 private:
  ListIntake::Events IntakeEvents();
  // One step each; an error ends the run.
  absl::Status Begin();
  Task<absl::Status> TakeUp();
  absl::Status StartAnew();
  Task<absl::Status> GoOn();
  absl::Status CreateEngine(std::optional<StoredRecords> stored);
  Task<absl::Status> MakeReady();
  Task<absl::Status> ConnectAgents();
  Task<absl::Status> NoteList(ListCounts counts);
  Task<absl::Status> Feed();
  // See AgentCare.
  Task<absl::Status> Admit(AgentIndex agent, v1::Started started);
  MadeReady Ready() const;
  Task<ExitCode> RunSteps();

  Task<> WatchDuration();
  Task<> ShowProgress();
  Task<> NoteDisturbed();
  void WatchLocalAgent();
  void Interrupt();
  void StopEngine();  // for the user
  void EndAtOnce();   // the process, with what a second signal means
  ProgressSnapshot Snapshot();
  std::string Phase() const;
  bool Stopped() const { return interrupted_ || (engine_ && engine_->stopping()); }

  RunParts Parts();
  Task<ExitCode> WrapUp(EngineEnd end);
  Task<std::optional<OriginSummary>> AskOrigin(bool hurry);
  void SayHowToGoOn(const Summary& summary, bool printed);
  bool IsFutile(const absl::Status& error, ExitCode code) const;
  void DropRun();
  std::vector<BusyAgent> BusyAgents() const;
  void SayWhoIsBusy();
  void SayWhatIsLeft();
  Task<ExitCode> GiveUp(absl::Status error);
  ExitCode Report(const absl::Status& error);

  net::io_context& loop_;
  const RunOptions& options_;
  const Clock& clock_;
  ProgressDisplay& display_;
  TextStyle stdout_style_;
  RunPresentation presentation_;
  RunResult result_;
  std::optional<TakenUpRun> taken_up_;
  RunIdentity identity_;
  std::optional<RunJournal> journal_;
  ListIntake intake_;
  std::optional<RunStage> stage_;
  std::shared_ptr<RunEngine> engine_;
  ProgressView view_;
  StopSignals signals_;
  net::steady_timer duration_timer_;
  net::steady_timer progress_timer_;
  net::steady_timer note_timer_;
  SteadyTime began_;
  int64_t cpu_before_us_ = 0;  // what this process had used when the run began
  bool feeding_ = false;
  bool interrupted_ = false;
  bool over_ = false;
};

}  // namespace fetchbench::coordinator
