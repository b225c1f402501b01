// The parts of going on with a run that touch no file, each by itself: what is kept, what is left
// out of times, what is refused.

#include <gmock/gmock.h>

#include <string>

#include "coordinator/run/cancel_run.h"
#include "coordinator/run/lease_book.h"
#include "coordinator/run/resume_state.h"
#include "coordinator/run/run_view.h"
#include "coordinator/run/take_up_run.h"
#include "tests/coordinator/memory_spool.h"
#include "tests/coordinator/resume_samples.h"

namespace fetchbench::coordinator {
namespace {

using fetchbench::test::Answer;
using fetchbench::test::kBegin;
using fetchbench::test::kSecond;
using test::MemorySpool;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(IndexSetTest, HoldsEachIndexOnceAndNoneBeyondItsSize) {
  IndexSet set(65);
  EXPECT_TRUE(set.Add(0));
  EXPECT_TRUE(set.Add(64));
  EXPECT_FALSE(set.Add(64));
  EXPECT_FALSE(set.Add(65));
  EXPECT_TRUE(set.Contains(64));
  EXPECT_FALSE(set.Contains(63));
  EXPECT_FALSE(set.Contains(1'000'000));
  EXPECT_EQ(set.count(), 2u);
}

TEST(PausesTest, AreLeftOutOfTimesAndAMomentWithinIsItsBeginning) {
  const Pauses pauses({{100, 150}, {300, 310}});
  EXPECT_EQ(pauses.LeaveOut(90), 90);
  EXPECT_EQ(pauses.LeaveOut(120), 100);
  EXPECT_EQ(pauses.LeaveOut(200), 150);
  EXPECT_EQ(pauses.LeaveOut(400), 340);
  EXPECT_EQ(pauses.Total(), 60);
  // A clock that was set back meanwhile makes no time.
  EXPECT_EQ(Pauses({{100, 40}}).Total(), 0);
}

TEST(AggregatorWithPausesTest, TimeLeavesThemOutAndWallTimeDoesNot) {
  Aggregator aggregator(0);
  aggregator.Add(Answer(0, kBegin, kSecond));
  aggregator.AddPause({kBegin + 2 * kSecond, kBegin + 12 * kSecond});
  aggregator.Add(Answer(1, kBegin + 12 * kSecond, kSecond));
  const Measured m = aggregator.Result();
  EXPECT_EQ(m.time_us, 3 * kSecond);
  EXPECT_EQ(m.wall_us, 13 * kSecond);
  EXPECT_NEAR(static_cast<double>(m.time_to_99_us), 3.0 * kSecond, 2000);
  EXPECT_DOUBLE_EQ(m.mean_in_flight, 2.0 / 3);
}

TEST(AggregatorWithPausesTest, APauseBeforeTheFirstStartCostsNothing) {
  Aggregator aggregator(0, Pauses({{kBegin, kBegin + 100 * kSecond}}));
  aggregator.Add(Answer(0, kBegin + 200 * kSecond, kSecond));
  EXPECT_EQ(aggregator.Result().time_us, kSecond);
  EXPECT_EQ(aggregator.Result().wall_us, kSecond);
}

TEST(ResumedLeaseBookTest, LendsOnlyWhatHasNoRecord) {
  MemorySpool spool({{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9}}, 4);
  IndexSet known(10);
  for (const uint64_t i : {4, 5, 6, 7, 1, 9}) known.Add(i);  // a whole chunk among them
  LeaseBook book(
      10, known.count(), {3, 1}, 1, std::chrono::seconds(1),
      [&](uint32_t p) { return spool.Take(p); }, known);
  std::vector<uint64_t> lent;
  while (true) {
    const auto lease = book.Lend(0, 100);
    ASSERT_TRUE(lease.ok()) << lease.status();
    EXPECT_TRUE(book.counts().Balanced());
    if (!lease->has_value()) break;
    for (const uint32_t e : (*lease)->entries) lent.push_back((*lease)->chunk->indices[e]);
  }
  EXPECT_THAT(lent, ElementsAre(0, 2, 3, 8));
  EXPECT_EQ(book.Accept(0, 9).verdict, Verdict::kDuplicate);
  for (const uint64_t i : lent) EXPECT_EQ(book.Accept(0, i).verdict, Verdict::kFirst);
  EXPECT_TRUE(book.AllRecorded());
}

TEST(ResumedLeaseBookTest, CountsWhatWasTakenFromEachAgent) {
  MemorySpool spool({{0, 1, 2}, {3, 4}}, 4);
  LeaseBook book(5, 0, spool.remaining(), 2, std::chrono::seconds(1),
                 [&](uint32_t p) { return spool.Take(p); });
  ASSERT_TRUE(book.Lend(0, 10).ok());
  ASSERT_TRUE(book.Lend(1, 10).ok());
  book.AgentGone(0);
  EXPECT_EQ(book.TakenFrom(0), 3u);
  EXPECT_EQ(book.TakenFrom(1), 0u);
}

ResumeState FullState() {
  ResumeState s;
  s.version = FETCHBENCH_VERSION;
  s.identity = {"20260131T235959Z-3fa9c1", "out/x", kBegin, "urls.txt"};
  s.options.target = *TargetRegistry().Find("native");
  s.options.urls = "/lists/urls.txt";
  s.options.credentials.named = "/of-run";
  s.options.agents = {{.address = "10.0.0.1:7311", .name = "one"},
                      {.address = "unix:/a=b", .name = ""}};
  s.options.profile = "fast";
  s.options.origin = "10.0.0.5:8000";
  s.options.concurrency = 150;
  s.options.per_host = 3;
  s.options.duration = std::chrono::microseconds(90 * kSecond);
  s.options.timeout = std::chrono::milliseconds(700);
  s.options.seed = 18'446'744'073'709'551'615u;
  s.options.build_arguments = {{"A", "b"}};
  s.options.give_up_after = std::chrono::milliseconds(5000);
  s.list_loaded = true;
  s.urls = 10'000'000;
  s.invalid = 7;
  s.target.set_name("native");
  s.target.set_context_sha256("abc");
  s.facts["local"].set_version("1.2");
  s.facts["local"].add_libraries("c-ares 1.18.1");
  s.profile_sha256 = "def";
  s.sessions = 3;
  s.pauses = {{1, 2}, {3, 4}};
  s.fed_us = 12;
  s.requested_again = 4;
  s.image_ids = {{"x86_64", "sha256:1"}};
  s.disturbed = {{"one", true, 0, 12, "no answer"}};
  s.disturbed_earlier = {{"two", false, 3, 0, ""}};
  return s;
}

TEST(ResumeStateTest, ComesBackAsItWasWritten) {
  const ResumeState s = FullState();
  const auto back = ParseResumeState(ToJson(s), TargetRegistry());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(ToJson(*back), ToJson(s));
  EXPECT_EQ(back->options.seed, s.options.seed);
  EXPECT_EQ(back->options.limit, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(back->options.agents, s.options.agents);
  EXPECT_EQ(back->options.credentials.named, s.options.credentials.named);
  EXPECT_EQ(back->facts.at("local").libraries(0), "c-ares 1.18.1");
  EXPECT_EQ(back->pauses.size(), 2u);
  EXPECT_EQ(back->image_ids, s.image_ids);
  EXPECT_EQ(back->disturbed, s.disturbed);
  EXPECT_EQ(back->disturbed_earlier, s.disturbed_earlier);
}

// The last words of a target or a host may be anything, and JSON that is not UTF-8 cannot be read.
TEST(ResumeStateTest, TroubleInAnyBytesCanBeReadAgain) {
  ResumeState s = FullState();
  s.disturbed[0].trouble = "\xff\"\n";
  const auto back = ParseResumeState(ToJson(s), TargetRegistry());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->disturbed[0].trouble, "\xEF\xBF\xBD\"\n");
}

TEST(ResumeStateTest, AnotherVersionAndDamageAreToldApart) {
  ResumeState other = FullState();
  other.version = "99.0";
  const auto refused = ParseResumeState(ToJson(other), TargetRegistry());
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("99.0"));
  const std::string text = ToJson(FullState());
  std::string older = text;
  older.replace(older.find("\"form\":2"), 8, "\"form\":1");
  EXPECT_TRUE(absl::IsFailedPrecondition(ParseResumeState(older, TargetRegistry()).status()));
  EXPECT_TRUE(absl::IsDataLoss(ParseResumeState(text.substr(0, 300), TargetRegistry()).status()));
  std::string without = text;
  without.replace(without.find("\"sessions\""), 10, "\"other\"");
  EXPECT_TRUE(absl::IsDataLoss(ParseResumeState(without, TargetRegistry()).status()));
}

// What is said of a journal in which `what` was replaced `by` something.
std::string Complaint(const std::string& what, const std::string& by) {
  std::string text = ToJson(FullState());
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  if (at != std::string::npos) text.replace(at, what.size(), by);
  const absl::Status status = ParseResumeState(text, TargetRegistry()).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("records.db"), HasSubstr("begin a new run")));
  return std::string(status.message());
}

TEST(ResumeStateTest, OfDamageTheMemberIsNamedAndWhatItShouldBe) {
  EXPECT_THAT(Complaint("{", "["), HasSubstr("no JSON object"));
  EXPECT_THAT(Complaint("\"sessions\":3", "\"other\":3"),
              HasSubstr("'sessions' is missing, where a whole number from 1 to 1000000 was"));
  EXPECT_THAT(Complaint("\"form\":2,", ""), HasSubstr("'form' is missing"));
  EXPECT_THAT(Complaint("\"concurrency\":150", "\"concurrency\":\"150\""),
              HasSubstr("'options.concurrency' is \"150\", where a whole number"));
  EXPECT_THAT(
      Complaint("\"concurrency\":150", "\"concurrency\":4294967296"),
      HasSubstr("'options.concurrency' is 4294967296, where a whole number from 1 to 100000 "));
  EXPECT_THAT(Complaint("\"duration_us\":90000000", "\"duration_us\":-1"),
              HasSubstr("'options.duration_us' is -1, where a whole number from 0"));
  EXPECT_THAT(Complaint("\"urls\":10000000", "\"urls\":1.5"), HasSubstr("'urls' is 1.5"));
  EXPECT_THAT(Complaint("\"list_loaded\":true", "\"list_loaded\":null"),
              HasSubstr("'list_loaded' is null, where true or false"));
  EXPECT_THAT(Complaint("\"web\":\"sim\"", "\"web\":\"simm\""),
              HasSubstr("'options.web' is \"simm\", where \"sim\" or \"internet\""));
  EXPECT_THAT(Complaint("\"until_us\":4", "\"until_us\":[]"), HasSubstr("'pauses[1].until_us'"));
  EXPECT_THAT(Complaint("\"lost\":true", "\"lost\":1"), HasSubstr("'disturbed[0].lost' is 1"));
  EXPECT_THAT(Complaint("\"facts\":{\"local\":\"{", "\"facts\":{\"local\":\"["),
              HasSubstr("'facts.local' is"));
  EXPECT_THAT(Complaint("\"x86_64\":\"sha256:1\"", "\"x86_64\":7"),
              HasSubstr("'image_ids.x86_64' is 7, where a text"));
  EXPECT_THAT(Complaint("\"unix:/a=b\"", "\"\""), HasSubstr("'options.agents' is"));
}

// What no option could have made of it. 0 stands for an option that was not given, where there is
// one of that meaning.
TEST(ResumeStateTest, NumbersKeepToTheBoundsOfTheOptionsTheyComeFrom) {
  struct Case {
    const char* name;
    const char* sound;  // what FullState has
    std::vector<const char*> wrong;
    std::vector<const char*> right;
  };
  const std::vector<Case> cases{
      {"concurrency", "150", {"0", "100001"}, {"1", "100000"}},
      {"per_host", "3", {"100001"}, {"0", "100000"}},
      {"duration_us", "90000000", {"315360000000001"}, {"0", "315360000000000"}},
      {"timeout_ms", "700", {"0", "86400001"}, {"1", "86400000"}},
      {"max_body_bytes", "0", {"1125899906842625"}, {"0", "1", "1125899906842624"}},
      {"threads", "0", {"1025"}, {"0", "1", "1024"}},
      {"grace_ms", "15000", {"315360000001"}, {"0", "315360000000"}},
      {"silence_ms", "10000", {"0", "1999", "315360000001"}, {"2000", "315360000000"}},
      {"give_up_after_ms", "5000", {"315360000001"}, {"0", "315360000000"}},
      {"connect_timeout_ms", "5000", {"0", "99", "315360000001"}, {"100", "315360000000"}},
      {"cpu_permille", "0", {"9", "1024001"}, {"0", "10", "1024000"}},
      {"memory_bytes", "0", {"6291455", "1099511627777"}, {"0", "6291456", "1099511627776"}}};
  for (const Case& c : cases) {
    const std::string member = std::string("\"") + c.name + "\":";
    for (const char* number : c.wrong) {
      EXPECT_THAT(Complaint(member + c.sound, member + number),
                  HasSubstr(std::string("'options.") + c.name + "' is " + number + ", where"));
    }
    for (const char* number : c.right) {
      std::string text = ToJson(FullState());
      text.replace(text.find(member), member.size() + std::string(c.sound).size(), member + number);
      const auto parsed = ParseResumeState(text, TargetRegistry());
      EXPECT_TRUE(parsed.ok()) << parsed.status();
    }
  }
}

TEST(ResumeStateTest, NumbersOfTheRunItselfAreBoundedToo) {
  EXPECT_THAT(Complaint("\"sessions\":3", "\"sessions\":0"), HasSubstr("'sessions' is 0, where"));
  EXPECT_THAT(Complaint("\"invalid\":7", "\"invalid\":10000001"),
              HasSubstr("'invalid' is 10000001, where a whole number from 0 to 10000000"));
  // Sums of times do not overflow.
  const std::string most = "9223372036854775807";
  EXPECT_THAT(Complaint("\"fed_us\":12", "\"fed_us\":" + most), HasSubstr("'fed_us' is 9"));
  EXPECT_THAT(Complaint("\"until_us\":4", "\"until_us\":" + most), HasSubstr("[1].until_us' is 9"));
}

TEST(ResumeStateTest, ATargetThatIsGoneIsNamed) {
  ResumeState s = FullState();
  s.options.target.name = "rust/gone";
  const auto refused = ParseResumeState(ToJson(s), TargetRegistry());
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("rust/gone"));
}

TEST(ResumeStateTest, NamesEveryDifferenceOfWhatRan) {
  v1::TargetSpec then;
  then.set_name("rust/reqwest");
  then.set_context_sha256("aaa");
  (*then.mutable_build_args())["RUST_IMAGE"] = "rust:1";
  v1::TargetSpec now = then;
  EXPECT_THAT(DifferenceOf(then, now), IsEmpty());
  now.set_context_sha256("bbb");
  (*now.mutable_build_args())["RUST_IMAGE"] = "rust:2";
  const std::string words = DifferenceOf(then, now);
  EXPECT_THAT(words, HasSubstr("folder was aaa, is bbb"));
  EXPECT_THAT(words, HasSubstr("RUST_IMAGE was rust:1, is rust:2"));
}

TEST(ResumeStateTest, OnlyANamedImageMustBeTheSameToTheDigest) {
  v1::TargetFacts then;
  then.set_image_digest("sha256:1");
  v1::TargetFacts now;
  now.set_image_digest("sha256:2");
  EXPECT_THAT(DifferenceOf("a", then, now, false), IsEmpty());
  EXPECT_THAT(DifferenceOf("a", then, now, true), HasSubstr("sha256:2"));
  now.set_tls_library("another");
  EXPECT_THAT(DifferenceOf("a", then, now, false), HasSubstr("on a: TLS library was none"));
}

TEST(ResumeStateTest, WhatAnImageWasBuiltOnMustBeTheSame) {
  const auto on = [](const std::string& digest) {
    v1::TargetFacts facts;
    v1::BaseImage& base = *facts.add_base_images();
    base.set_reference("golang:1");
    base.set_digest(digest);
    return facts;
  };
  EXPECT_THAT(DifferenceOf("a", on("sha256:1"), on("sha256:1"), false), IsEmpty());
  EXPECT_THAT(DifferenceOf("a", on("sha256:1"), on("sha256:2"), false),
              HasSubstr("base images was golang:1@sha256:1, is golang:1@sha256:2"));
  EXPECT_THAT(DifferenceOf("a", v1::TargetFacts(), on("sha256:2"), false), IsEmpty())
      << "it was not recorded then";
}

TEST(SessionIdTest, TellsSessionsOfOneRunFromOtherRuns) {
  EXPECT_EQ(SessionId("r-1", 1), "r-1");
  EXPECT_NE(SessionId("r-1", 2), SessionId("r-1", 3));
  EXPECT_TRUE(IsSessionOf(SessionId("r-1", 12), "r-1"));
  EXPECT_TRUE(IsSessionOf("r-1", "r-1"));
  EXPECT_FALSE(IsSessionOf("r-12", "r-1"));
  EXPECT_FALSE(IsSessionOf("r", "r-1"));
}

TEST(ResumeCommandTest, NamesTheRunAsShortlyAsItCan) {
  EXPECT_EQ(ResumeCommand("out/id", "id"), "coordinator resume id");
  EXPECT_EQ(ResumeCommand("/data/id", "id"), "coordinator resume /data/id");
  EXPECT_EQ(ResumeCommand("/my data/id", "id"), "coordinator resume '/my data/id'");
}

TEST(OptionsOfResumedTest, WhatIsLeftOfTheDurationCounts) {
  ResumeState s = FullState();
  s.fed_us = 60 * kSecond;
  EXPECT_EQ(OptionsOfResumed(s, {}).duration, std::chrono::seconds(30));
  s.fed_us = 600 * kSecond;
  EXPECT_GT(OptionsOfResumed(s, {}).duration.count(), 0) << "0 would be no limit";
  ResumeOptions given;
  given.duration = std::chrono::microseconds(0);
  given.origin = "10.0.0.9:8000";
  EXPECT_EQ(OptionsOfResumed(s, given).duration.count(), 0);
  EXPECT_EQ(OptionsOfResumed(s, given).origin, "10.0.0.9:8000");
}

TEST(OptionsOfResumedTest, CredentialsAreThoseOfTheRunUnlessOthersAreNamed) {
  ResumeState s = FullState();
  s.options.credentials.named = "/of-run";
  ResumeOptions given;
  given.credentials.default_place = "/default";
  EXPECT_EQ(OptionsOfResumed(s, given).credentials.named, "/of-run");
  EXPECT_EQ(OptionsOfResumed(s, given).credentials.default_place, "/default");
  given.credentials.named = "/now";
  EXPECT_EQ(OptionsOfResumed(s, given).credentials.named, "/now");
}

TEST(DegradedInWordsTest, NamesAgentsAndMovedUrlsButNotAHundredOfThem) {
  EXPECT_THAT(DegradedInWords({}, {}), IsEmpty());
  const Disturbance lost{"b", true, 0, 1200, "refused"};
  const Disturbance back{"c", false, 2, 0, ""};
  EXPECT_EQ(DegradedInWords({back, lost}, {}),
            "b lost (refused), 1,200 URLs moved; c came back 2 times");
  const std::string many = DegradedInWords(std::vector<Disturbance>(100, lost), {});
  EXPECT_THAT(many, HasSubstr("and 95 more agents"));
}

TEST(DegradedInWordsTest, TellsEarlierSessionsFromThisOne) {
  const Disturbance lost{"b", true, 0, 1200, "refused"};
  const Disturbance back{"c", false, 2, 0, ""};
  EXPECT_EQ(DegradedInWords({}, {lost}),
            "before the run was resumed: b lost (refused), 1,200 URLs moved");
  EXPECT_EQ(DegradedInWords({back}, {lost}),
            "c came back 2 times; before the run was resumed: b lost (refused), 1,200 URLs moved");
}

}  // namespace
}  // namespace fetchbench::coordinator
