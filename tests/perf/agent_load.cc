// fetchbench-agent-load: leases invented URLs to one running agent as fast as it asks for them and
// drops its records unread. Prints one JSON line: records, seconds, records_per_second, agent and
// target CPU.
//
//   fetchbench-agent-load HOST:PORT|unix:PATH [URLS]

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "common/grpc_options.h"
#include "fetchbench/v1/agent.grpc.pb.h"
#include "tests/support/agent_client.h"

namespace fetchbench {
namespace {

constexpr uint64_t kUrls = 2'000'000;
constexpr uint32_t kLargestLease = 4'096;

class Load {
 public:
  Load(test::RunStream& stream, uint64_t urls) : stream_(stream), urls_(urls) {}

  // 0: the run finished.
  int Run() {
    while (auto message = stream_.Read()) {
      if (message->has_credit()) Lend(message->credit().urls());
      if (message->has_batch()) {
        records_ += static_cast<uint64_t>(message->batch().records().index_delta_size());
        stream_.SendAck(message->batch().seq());
      }
      if (message->has_failed()) fmt::print(stderr, "failed: {}\n", message->failed().message());
      if (message->has_finished()) finished_ = message->finished();
    }
    return finished_.records() == urls_ && records_ == urls_ ? 0 : 1;
  }

  uint64_t records() const { return records_; }
  const v1::Finished& finished() const { return finished_; }

 private:
  void Lend(uint32_t credit) {
    while (credit > 0 && next_ < urls_) {
      std::vector<std::string> urls;
      const uint64_t first = next_;
      while (credit > 0 && next_ < urls_ && urls.size() < kLargestLease) {
        urls.push_back(fmt::format("https://www.host-{}.example/", next_));
        ++next_;
        --credit;
      }
      stream_.SendLease(first + 1, first, urls);
      if (next_ == urls_) stream_.SendFinish();
    }
  }

  test::RunStream& stream_;
  const uint64_t urls_;
  uint64_t next_ = 0;
  uint64_t records_ = 0;
  v1::Finished finished_;
};

int Main(const std::string& address, uint64_t urls) {
  const auto channel = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                                 ClientChannelArguments());
  const auto stub = v1::Agent::NewStub(channel);
  const auto begin = std::chrono::steady_clock::now();
  test::RunStream stream(*stub,
                         test::MakeStart(fmt::format("load-{}", begin.time_since_epoch().count())));
  Load load(stream, urls);
  const int code = load.Run();
  if (code != 0) fmt::print(stderr, "ended with: {}\n", stream.End().error_message());
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const v1::Finished& f = load.finished();
  fmt::print(
      "{{\"records\":{},\"seconds\":{:.3f},\"records_per_second\":{:.0f},\"agent_cpu_us\":{},"
      "\"agent_cpu_us_per_record\":{:.3f},\"target_cpu_us\":{},\"stalled_us\":{},\"surplus\":{}}}"
      "\n",
      load.records(), seconds, static_cast<double>(load.records()) / seconds, f.agent_cpu_us(),
      static_cast<double>(f.agent_cpu_us()) / static_cast<double>(load.records()),
      f.target().user_us() + f.target().system_us(), f.stalled_us(), f.surplus_lines());
  return code;
}

}  // namespace
}  // namespace fetchbench

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: fetchbench-agent-load HOST:PORT|unix:PATH [URLS]\n");
    return 2;
  }
  return fetchbench::Main(argv[1],
                          argc > 2 ? std::strtoull(argv[2], nullptr, 10) : fetchbench::kUrls);
}
