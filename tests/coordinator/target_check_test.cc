#include "coordinator/verify/target_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "coordinator/run/run_store.h"
#include "tests/support/temp_folder.h"

namespace fetchbench::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TargetInfo Target(const std::string& name) {
  TargetInfo target;
  target.name = name;
  return target;
}

// Stands for RunOnce: every URL of the list was answered with a status, and the target's peak
// memory was so much.
class FakeRun {
 public:
  RunResult operator()(const RunOptions& options, const RunPresentation& presentation) {
    RunResult result;
    const std::string name = options.target.name + " " + presentation.title_note;
    runs_.push_back(presentation.title_note);
    if (name == interrupted_at) {
      result.code = ExitCode::kInterrupted;
      return result;
    }
    if (name == fails_at) {
      result.error = absl::UnavailableError("the engine is gone");
      return result;
    }
    result.code = ExitCode::kDone;
    result.folder = folder_.File(std::to_string(runs_.size()));
    std::filesystem::create_directories(result.folder);
    auto store = RunStore::Create(result.folder + "/records.db",
                                  {[](const std::vector<CommitBatch>&) {}, [](absl::Status) {}});
    EXPECT_TRUE(store.ok()) << store.status();
    CommitBatch batch;
    std::ifstream list(options.urls);
    for (std::string url; std::getline(list, url);) {
      Record record;
      record.index = batch.records.size();
      record.outcome = Outcome::kStatus;
      record.status = status;
      batch.Add(std::move(record), url);
    }
    (*store)->Push(std::move(batch));
    EXPECT_TRUE((*store)->Finish().ok());
    result.summary.emplace();
    result.summary->facts.runtime = "X 1";
    result.summary->facts.libc = "glibc 2.41";
    result.summary->marks = marks;
    result.summary->cost.peak_rss_bytes_max =
        presentation.title_note.starts_with("memory-") ? big_peak_bytes : small_peak_bytes;
    return result;
  }

  std::string Out() const { return folder_.File("out"); }
  const std::vector<std::string>& runs() const { return runs_; }

  std::string interrupted_at;  // "TARGET NOTE"
  std::string fails_at;
  std::vector<Mark> marks;
  int status = 200;
  uint64_t small_peak_bytes = uint64_t{50} << 20;
  uint64_t big_peak_bytes = uint64_t{60} << 20;

 private:
  test::TempFolder folder_;
  std::vector<std::string> runs_;
};

CheckPlan Plan(const FakeRun& fake, const std::string& only) {
  CheckPlan plan;
  plan.run.out = fake.Out();
  plan.resources =
      ChooseChecks(ResourceChecks(), [&only](const std::string& name) { return name == only; });
  return plan;
}

Matrix Check(FakeRun& fake, const CheckPlan& plan, const std::vector<TargetInfo>& targets) {
  return CheckAll(plan, targets, std::ref(fake), [](const std::string&) {});
}

TEST(ChooseChecksTest, WhatIsComparedBringsAlongWhatItIsComparedWith) {
  FakeRun fake;
  EXPECT_THAT(EmptyMatrix(Plan(fake, "memory-10000-hosts")).behaviours,
              ElementsAre("limit-in-flight", "memory-10000-hosts"));
  EXPECT_THAT(EmptyMatrix(Plan(fake, "slow-dns")).behaviours, ElementsAre("slow-dns"));
  EXPECT_THAT(EmptyMatrix(Plan(fake, "none")).behaviours, IsEmpty());
}

TEST(TargetCheckTest, MemoryThatGrowsWithTheHostsIsFoundWhateverElseIsLeftOut) {
  FakeRun fake;
  fake.big_peak_bytes = fake.small_peak_bytes + kMemoryGrowthLimit + 1;
  const Matrix matrix = Check(fake, Plan(fake, "memory-10000-hosts"), {Target("x/leaks")});
  ASSERT_THAT(matrix.columns, SizeIs(1));
  ASSERT_THAT(matrix.columns[0].cells, SizeIs(2));
  EXPECT_EQ(matrix.columns[0].cells[0].verdict, CellVerdict::kPass);
  EXPECT_EQ(matrix.columns[0].cells[1].verdict, CellVerdict::kFail);
}

TEST(TargetCheckTest, MemoryIsNotJudgedWithoutARunToCompareItWith) {
  FakeRun fake;
  fake.fails_at = "x/y limit-in-flight";
  const Matrix matrix = Check(fake, Plan(fake, "memory-10000-hosts"), {Target("x/y")});
  ASSERT_THAT(matrix.columns, SizeIs(1));
  EXPECT_EQ(matrix.columns[0].cells.at(0).verdict, CellVerdict::kFail);
  EXPECT_EQ(matrix.columns[0].cells.at(1).verdict, CellVerdict::kNotRun);
  EXPECT_THAT(matrix.columns[0].cells.at(1).not_run, HasSubstr("limit-in-flight"));
  EXPECT_THAT(MatrixText(matrix, {.width = 80}), HasSubstr("not run    memory-10000-hosts: noth"));
}

TEST(TargetCheckTest, LinesThatNobodyAskedForAreAFail) {
  FakeRun fake;
  fake.marks = {{"origin_late", "the origin was late"},
                {"surplus_lines", "the target printed 7 lines too many"},
                {"unparsable_lines", "the target printed 2 lines that are no records"}};
  const Matrix matrix = Check(fake, Plan(fake, "slow-dns"), {Target("x/twice")});
  EXPECT_TRUE(matrix.Failed());
  ASSERT_THAT(matrix.columns, SizeIs(1));
  EXPECT_EQ(matrix.columns[0].Count(CellVerdict::kFail), 2U);
  EXPECT_THAT(matrix.columns[0].faults,
              ElementsAre("slow-dns: the target printed 7 lines too many",
                          "slow-dns: the target printed 2 lines that are no records"));
  EXPECT_THAT(MatrixText(matrix, {.width = 80}), HasSubstr("FAIL       slow-dns: the target pri"));
  EXPECT_THAT(MatrixMarkdown(matrix), HasSubstr("- **FAIL**: slow-dns: the target printed 7"));
  EXPECT_THAT(MatrixJson(matrix), HasSubstr(R"("faults":["slow-dns: the target printed 7)"));
}

TEST(TargetCheckTest, OthersThatStarveOnABusyMachineAreDoubted) {
  FakeRun fake;
  fake.status = 503;
  const std::vector<TargetInfo> targets{Target("x/starves")};
  const Matrix quiet = Check(fake, Plan(fake, "slow-dns"), targets);
  fake.marks = {{"steal", "the hypervisor took 7.1 %"}, {"other_cpu_busy", "at its start"}};
  const Matrix busy = Check(fake, Plan(fake, "slow-dns"), targets);
  EXPECT_THAT(MatrixText(quiet, {.width = 80}), Not(HasSubstr("quieter")));
  EXPECT_THAT(MatrixText(busy, {.width = 80}),
              HasSubstr("(judge it on a quieter machine: the hypervisor took 7.1 %)"));
  EXPECT_TRUE(busy.Failed());
}

// Also where nothing but the runs over many hosts was asked for.
TEST(TargetCheckTest, WhatRanIsNamedAndDecidesWhichDeviationsHold) {
  FakeRun fake;
  fake.big_peak_bytes = fake.small_peak_bytes + kMemoryGrowthLimit + 1;
  for (const auto& [libc, verdict] :
       {std::pair("glibc", CellVerdict::kDeviation), std::pair("musl", CellVerdict::kFail)}) {
    TargetInfo target = Target("x/leaks");
    target.deviations = {{.behaviours = {"memory-*"},
                          .observed = {"memory_growth"},
                          .why = "w",
                          .reference = "r",
                          .libc = libc}};
    const Matrix matrix = Check(fake, Plan(fake, "memory-10000-hosts"), {target});
    ASSERT_THAT(matrix.columns, SizeIs(1));
    EXPECT_EQ(matrix.columns[0].runtime, "X 1");
    EXPECT_EQ(matrix.columns[0].cells.at(1).verdict, verdict) << libc;
    EXPECT_THAT(matrix.columns[0].stale, IsEmpty());
  }
}

TEST(TargetCheckTest, AnInterruptionKeepsTheTargetsThatWereDone) {
  FakeRun fake;
  fake.interrupted_at = "b/b slow-dns";
  const Matrix matrix = Check(fake, Plan(fake, "slow-dns"), {Target("a/a"), Target("b/b"), {}});
  EXPECT_TRUE(matrix.partial);
  ASSERT_THAT(matrix.columns, SizeIs(1));
  EXPECT_EQ(matrix.columns[0].target, "a/a");
  EXPECT_EQ(matrix.columns[0].cells.at(0).verdict, CellVerdict::kPass);
  EXPECT_THAT(fake.runs(), SizeIs(2));
  for (const std::string& text : {MatrixText(matrix, {.width = 80}), MatrixMarkdown(matrix)}) {
    EXPECT_THAT(text, HasSubstr("PARTIAL"));
  }
  EXPECT_THAT(MatrixJson(matrix), HasSubstr("\"partial\":true"));
}

}  // namespace
}  // namespace fetchbench::coordinator
