// The ledger under random schedules: a model of agents that die, come back, forget, answer late and
// answer twice, with a fake clock, against the lease book. What must hold in every schedule: the
// ledger balances after every step, no index gets two records, a partition is held by one agent,
// and once enough agents behave, every index has its record.

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <set>

#include "coordinator/run/lease_book.h"
#include "tests/coordinator/memory_spool.h"

namespace fetchbench::coordinator {
namespace {

using std::chrono::milliseconds;
using test::MemorySpool;

constexpr int kSchedules = 4000;
constexpr int kMaxSteps = 20'000;
constexpr milliseconds kGrace{500};

struct ModelAgent {
  bool connected = true;
  bool dead = false;  // will never come back
  uint64_t credit = 8;
  std::map<uint64_t, std::set<uint64_t>> leases;  // id -> indices not answered
  std::deque<uint64_t> unsent;                    // answered, not delivered
};

class Model {
 public:
  explicit Model(uint64_t seed) : random_(seed) {
    const uint64_t urls = Pick(120);
    const size_t partitions = 1 + Pick(12);
    agents_.resize(1 + Pick(5));
    std::vector<std::vector<uint64_t>> lists(partitions);
    for (uint64_t i = 0; i < urls; ++i) lists[Pick(partitions)].push_back(i);
    spool_ = std::make_unique<MemorySpool>(std::move(lists), 1 + Pick(7));
    book_ = std::make_unique<LeaseBook>(urls, 0, spool_->remaining(),
                                        static_cast<uint32_t>(agents_.size()), kGrace,
                                        [this](uint32_t p) { return spool_->Take(p); });
  }

  void Run() {
    int step = 0;
    for (; step < kMaxSteps && !book_->AllRecorded(); ++step) {
      // After a wild time the survivors behave, so that the run can end.
      const bool wild = step < kMaxSteps / 20;
      Step(wild);
      ASSERT_TRUE(book_->counts().Balanced());
      ASSERT_EQ(book_->counts().recorded, recorded_.size());
      ASSERT_EQ(book_->counts().lent, LentToAll());
    }
    ASSERT_TRUE(book_->AllRecorded()) << "no end after " << step << " steps";
    ASSERT_EQ(book_->counts().lent + book_->counts().waiting + book_->counts().in_spool, 0u);
  }

 private:
  uint64_t Pick(uint64_t below) {
    return std::uniform_int_distribution<uint64_t>(0, below - 1)(random_);
  }
  bool Chance(int percent) { return Pick(100) < static_cast<uint64_t>(percent); }

  uint64_t LentToAll() const {
    uint64_t sum = 0;
    for (AgentIndex i = 0; i < agents_.size(); ++i) sum += book_->LentTo(i);
    return sum;
  }

  void Step(bool wild) {
    now_ += milliseconds(Pick(30));
    const auto i = static_cast<AgentIndex>(Pick(agents_.size()));
    ModelAgent& a = agents_[i];
    if (!a.connected) {
      MaybeReturn(i, wild);
    } else {
      switch (Pick(wild ? 8 : 4)) {
        case 0:
        case 1:
          Feed(i);
          break;
        case 2:
          Work(a);
          break;
        case 3:
          Deliver(i);
          break;
        case 4:
          if (Chance(30)) Leave(i);
          break;
        case 5:
          Rogue(i);
          break;
        case 6:
          if (Chance(10)) GiveUp(i);
          break;
        default:
          now_ += milliseconds(Pick(200));
      }
    }
    book_->Tick(now_);
  }

  void Feed(AgentIndex i) {
    ModelAgent& a = agents_[i];
    if (a.credit == 0) return;
    auto lease = book_->Lend(i, a.credit);
    ASSERT_TRUE(lease.ok());
    if (!*lease) return;
    ASSERT_LE((*lease)->entries.size(), a.credit);
    ASSERT_EQ(book_->Holder((*lease)->chunk->partition), i);
    a.credit -= (*lease)->entries.size();
    // Now and then the stream breaks with the lease on its way: the agent never hears of it.
    if (Chance(3)) {
      Leave(i);
      return;
    }
    for (const uint32_t e : (*lease)->entries) {
      const uint64_t index = (*lease)->chunk->indices[e];
      ASSERT_FALSE(recorded_.contains(index)) << "lent although it has a record";
      a.leases[(*lease)->id].insert(index);
    }
  }

  // Answers some URLs; answers wait to be delivered.
  void Work(ModelAgent& a) {
    for (auto& [id, indices] : a.leases) {
      while (!indices.empty() && Chance(70)) {
        a.unsent.push_back(*indices.begin());
        indices.erase(indices.begin());
        ++a.credit;
      }
    }
    std::erase_if(a.leases, [](const auto& lease) { return lease.second.empty(); });
  }

  void Deliver(AgentIndex i) {
    ModelAgent& a = agents_[i];
    while (!a.unsent.empty() && Chance(90)) {
      Accept(i, a.unsent.front());
      if (Chance(5)) Accept(i, a.unsent.front());
      a.unsent.pop_front();
    }
  }

  void Accept(AgentIndex i, uint64_t index) {
    const Verdict verdict = book_->Accept(i, index).verdict;
    ASSERT_NE(verdict, Verdict::kUnknown) << "it was lent to this agent";
    const bool first = recorded_.insert(index).second;
    ASSERT_EQ(verdict == Verdict::kFirst, first);
  }

  // Records of anything at all: never stored unless they were lent to it.
  void Rogue(AgentIndex i) {
    const uint64_t index = Pick(150);
    if (book_->Accept(i, index).verdict == Verdict::kFirst) {
      ASSERT_TRUE(recorded_.insert(index).second);
    }
  }

  void Leave(AgentIndex i) {
    agents_[i].connected = false;
    // One at least stays able to come back.
    agents_[i].dead = Chance(20) && Alive() > 1;
    book_->AgentAway(i, now_);
  }

  void GiveUp(AgentIndex i) {
    if (Alive() < 2) return;
    agents_[i].connected = false;
    agents_[i].dead = true;
    book_->AgentGone(i);
  }

  size_t Alive() const {
    size_t alive = 0;
    for (const ModelAgent& a : agents_) alive += a.dead ? 0 : 1;
    return alive;
  }

  void MaybeReturn(AgentIndex i, bool wild) {
    ModelAgent& a = agents_[i];
    if (a.dead || (wild && Chance(70))) return;
    a.connected = true;
    absl::flat_hash_set<uint64_t> held;
    if (Chance(40)) {  // a new life: everything is forgotten
      a.leases.clear();
      a.unsent.clear();
    }
    a.credit = 8;
    for (const auto& [id, indices] : a.leases) held.insert(id);
    book_->AgentBack(i, held);
  }

  std::mt19937_64 random_;
  SteadyTime now_{};
  std::unique_ptr<MemorySpool> spool_;
  std::unique_ptr<LeaseBook> book_;
  std::vector<ModelAgent> agents_;
  std::set<uint64_t> recorded_;
};

TEST(LeaseBookPropertyTest, LedgerBalancesUnderRandomSchedules) {
  for (uint64_t seed = 0; seed < kSchedules; ++seed) {
    Model model(seed);
    model.Run();
    if (HasFatalFailure()) FAIL() << "schedule " << seed;
  }
}

}  // namespace
}  // namespace fetchbench::coordinator
