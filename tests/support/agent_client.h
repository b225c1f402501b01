#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/record.h"
#include "fetchbench/v1/agent.grpc.pb.h"

namespace fetchbench::test {

// A Start that an agent accepts; `script` (the user agent) tells the scripted target what to do.
v1::Start MakeStart(const std::string& run_id, const std::string& script = "");

// https://u0.test/ and so on.
std::vector<std::string> MakeUrls(size_t count);

// A coordinator in a test: one Execute stream with blocking calls. Every call ends after a minute
// at the latest.
class RunStream {
 public:
  RunStream(v1::Agent::Stub& stub, const v1::Start& start);
  ~RunStream();

  bool SendStart(const v1::Start& start);
  bool SendLease(uint64_t lease_id, uint64_t first_index, const std::vector<std::string>& urls);
  bool SendAck(uint64_t seq);
  bool SendCancel();
  bool SendFinish();
  bool Send(const v1::CoordinatorMessage& message);

  std::optional<v1::AgentMessage> Read();  // nullopt: the stream has ended
  // Reads until one of this kind.
  std::optional<v1::AgentMessage> ReadUntil(v1::AgentMessage::KindCase kind);
  grpc::Status End();  // after the end
  void Abort();        // the coordinator dies

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::CoordinatorMessage, v1::AgentMessage>> stream_;
  std::optional<grpc::Status> end_;
};

// What came of driving a run to its end.
struct RunResult {
  std::map<uint64_t, Record> records;
  uint64_t repeated = 0;  // records for an index that had one
  uint64_t last_seq = 0;
  bool seq_gap = false;
  std::vector<uint64_t> credits;
  std::optional<v1::Started> started;
  std::optional<v1::Progress> last_progress;
  std::optional<v1::Finished> finished;
  std::optional<v1::Failed> failed;
  grpc::Status status;
};

// Leases `urls` from `next` on as credit in URLs and bytes comes, acknowledges every batch, and
// sends Finish at their end. Goes on until the stream ends, or until `stop` says so (asked after
// each message).
RunResult Drive(RunStream& stream, const std::vector<std::string>& urls, size_t& next,
                const std::function<bool(const RunResult&)>& stop = nullptr);
RunResult Drive(RunStream& stream, const std::vector<std::string>& urls);

}  // namespace fetchbench::test
