#include "coordinator/cli/options.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>

#include "coordinator/cli/manual.h"
#include "coordinator/cli/program_name.h"
#include "coordinator/cli/suggest.h"

namespace fetchbench::coordinator {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using Variables = std::map<std::string, std::string>;

absl::StatusOr<Options> Parse(const std::vector<std::string>& arguments,
                              const Variables& variables = {}) {
  const Environment env = [&](std::string_view name) -> std::optional<std::string> {
    const auto it = variables.find(std::string(name));
    return it == variables.end() ? std::nullopt : std::optional(it->second);
  };
  TargetInfo rust{"rust/reqwest", "Rust", "reqwest"};
  rust.aliases = {"rust"};
  rust.folder = "/lib/rust/reqwest";
  return ParseOptions(arguments, env, TargetRegistry({rust}));
}

RunOptions ParseRun(std::vector<std::string> arguments, const Variables& variables = {}) {
  arguments.insert(arguments.begin(), {"run", "--target", "native"});
  const auto options = Parse(arguments, variables);
  EXPECT_TRUE(options.ok()) << options.status();
  return options.ok() ? options->run : RunOptions();
}

std::string ErrorOf(const std::vector<std::string>& arguments, const Variables& variables = {}) {
  const auto options = Parse(arguments, variables);
  EXPECT_TRUE(absl::IsInvalidArgument(options.status()));
  return std::string(options.status().message());
}

TEST(OptionsTest, ATargetThatNamesNoConcurrencyGetsTen) {
  const auto options = Parse({"run", "--target", "rust/reqwest"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->run.concurrency, 10u);
}

TEST(OptionsTest, CredentialsAreLookedForWhereThePkiPutsThem) {
  const auto place = [](const Variables& variables) {
    return ParseRun({}, variables).credentials.default_place;
  };
  EXPECT_EQ(place({{"HOME", "/home/ada"}}), "/home/ada/.config/fetchbench/credentials");
  EXPECT_EQ(place({{"HOME", "/home/ada"}, {"XDG_CONFIG_HOME", "/etc/x"}}),
            "/etc/x/fetchbench/credentials");
  EXPECT_EQ(place({}), "");
  EXPECT_EQ(Parse({"resume"}, {{"HOME", "/h"}})->resume.credentials.default_place,
            "/h/.config/fetchbench/credentials");
}

TEST(OptionsTest, CredentialsAreNamedForEveryCommandThatDialsAgents) {
  EXPECT_EQ(ParseRun({"--credentials", "/c"}).credentials.named, "/c");
  EXPECT_EQ(Parse({"bench", "--credentials", "/c"})->bench.run.credentials.named, "/c");
  EXPECT_EQ(Parse({"agents", "--credentials", "/c"})->run.credentials.named, "/c");
  EXPECT_EQ(Parse({"cancel", "--credentials", "/c"})->run.credentials.named, "/c");
  EXPECT_EQ(Parse({"resume", "--credentials", "/c"})->resume.credentials.named, "/c");
}

TEST(OptionsTest, TakesTheTargetAsAWordAndByAlias) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"run", "rust", "--limit", "5"},
        {"run", "--limit", "5", "rust/reqwest"},
        {"run", "--allow-private", "rust"},
        {"run", "--target", "rust"}}) {
    const auto options = Parse(arguments);
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_EQ(options->run.target.name, "rust/reqwest");
  }
  EXPECT_THAT(ErrorOf({"run", "rust", "native"}), HasSubstr("not expected"));
  EXPECT_THAT(ErrorOf({"run", "rsut"}), HasSubstr("did you mean rust?"));
}

TEST(OptionsTest, ReadsWhatAContainerGets) {
  const auto options = Parse({"run", "rust", "--cpus", "0.5", "--cpuset", "0,2-3", "--memory",
                              "512m", "--build-arg", "A=1", "--build-arg", "B=x=y"},
                             {{"FETCHBENCH_BASE_IMAGES", "/images.json"}});
  ASSERT_TRUE(options.ok()) << options.status();
  const RunOptions& run = options->run;
  EXPECT_EQ(run.cpu_permille, 500u);
  EXPECT_EQ(run.cpuset, "0,2-3");
  EXPECT_EQ(run.memory_bytes, 512u << 20);
  EXPECT_EQ(run.build_arguments, (BuildArguments{{"A", "1"}, {"B", "x=y"}}));
  EXPECT_EQ(run.base_images, "/images.json");
  EXPECT_TRUE(run.base_images_must_exist);
  EXPECT_EQ(Parse({"run", "rust", "--image", "mine:1"})->run.image, "mine:1");
  EXPECT_EQ(Parse({"run", "rust", "--memory", "2g"})->run.memory_bytes, uint64_t{2} << 30);
  EXPECT_EQ(Parse({"run", "rust", "--memory", "67108864"})->run.memory_bytes, 64u << 20);
}

TEST(OptionsTest, RefusesContainerOptionsThatMakeNoSense) {
  for (const char* memory : {"", "m", "0g", "1m", "-1g", "9999999999g", "1.5g", "2t"}) {
    EXPECT_THAT(ErrorOf({"run", "rust", "--memory", memory}), HasSubstr("memory")) << memory;
  }
  for (const char* cpus : {"0", "x", "-1", "nan"}) {
    EXPECT_THAT(ErrorOf({"run", "rust", "--cpus", cpus}), HasSubstr("CPUs")) << cpus;
  }
  EXPECT_THAT(ErrorOf({"run", "rust", "--cpuset", "a"}), HasSubstr("list of CPUs"));
  EXPECT_THAT(ErrorOf({"run", "rust", "--build-arg", "X"}), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(ErrorOf({"run", "rust", "--build-arg", "X=1", "--image", "a"}),
              HasSubstr("--build-arg"));
}

// An option that would be ignored in silence is a mistake of the one who gives it.
TEST(OptionsTest, RefusesWhatTheKindOfTargetDoesNotKnow) {
  EXPECT_THAT(ErrorOf({"run", "rust", "--threads", "2"}), HasSubstr("--threads"));
  EXPECT_THAT(ErrorOf({"run", "rust", "--max-body", "2"}), HasSubstr("--max-body"));
  EXPECT_THAT(ErrorOf({"run", "native", "--image", "a"}), HasSubstr("--image"));
  EXPECT_THAT(ErrorOf({"run", "native", "--memory", "1g"}), HasSubstr("--memory"));
  EXPECT_THAT(ErrorOf({"run", "native", "--cpus", "1"}), HasSubstr("--cpus"));
}

TEST(OptionsTest, HasDocumentedDefaults) {
  const RunOptions run = ParseRun({});
  EXPECT_EQ(run.urls, "-");
  EXPECT_EQ(run.concurrency, 150u) << "the target's own";
  EXPECT_EQ(run.timeout, milliseconds(5000));
  EXPECT_EQ(run.duration.count(), 0);
  EXPECT_EQ(run.web, Web::kSim);
  EXPECT_EQ(run.profile, "published");
  EXPECT_EQ(run.seed, 1u);
  EXPECT_EQ(run.format, ReportFormat::kPretty);
}

TEST(OptionsTest, ReadsTheEnvironment) {
  const RunOptions run = ParseRun({}, {{"CONCURRENCY", "150"},
                                       {"LIMIT", "7"},
                                       {"DURATION", "1.5"},
                                       {"FORMAT", "result"},
                                       {"REQUEST_TIMEOUT", "2.5"},
                                       {"USER_AGENT", "me"}});
  EXPECT_EQ(run.concurrency, 150u);
  EXPECT_EQ(run.limit, 7u);
  EXPECT_EQ(run.duration, milliseconds(1500));
  EXPECT_EQ(run.format, ReportFormat::kJson);
  EXPECT_EQ(run.timeout, milliseconds(2500));
  EXPECT_EQ(run.user_agent, "me");
}

TEST(OptionsTest, AnOptionWinsOverItsVariable) {
  EXPECT_EQ(ParseRun({"--concurrency", "5"}, {{"CONCURRENCY", "x"}}).concurrency, 5u);
  EXPECT_EQ(ParseRun({"--concurrency=6"}).concurrency, 6u);
}

TEST(OptionsTest, RealHostsAreAskedGentlyUnlessToldOtherwise) {
  EXPECT_EQ(ParseRun({}).per_host, 0u);
  EXPECT_EQ(ParseRun({"--per-host", "3"}).per_host, 3u);
  EXPECT_EQ(ParseRun({"--web", "internet"}).per_host, 2u);
  EXPECT_EQ(ParseRun({"--web", "internet", "--per-host", "0"}).per_host, 0u);
}

TEST(OptionsTest, AnEmptyVariableIsNone) {
  EXPECT_EQ(ParseRun({}, {{"CONCURRENCY", ""}}).concurrency, 150u);
}

TEST(OptionsTest, NamesWhereAWrongValueCameFrom) {
  EXPECT_THAT(ErrorOf({"run", "--target", "native"}, {{"CONCURRENCY", "many"}}),
              HasSubstr("environment variable CONCURRENCY: 'many'"));
  EXPECT_THAT(ErrorOf({"run", "--target", "native", "--timeout", "0"}), HasSubstr("--timeout"));
}

TEST(OptionsTest, SuggestsWhatWasMeant) {
  EXPECT_THAT(ErrorOf({"rnu"}), HasSubstr("did you mean run?"));
  EXPECT_THAT(ErrorOf({"run", "--target", "native", "--concurency", "5"}),
              HasSubstr("did you mean --concurrency?"));
  EXPECT_THAT(ErrorOf({"run", "--target", "natve"}), HasSubstr("did you mean native?"));
  EXPECT_THAT(ErrorOf({"run", "--target", "native", "--format", "prety"}),
              HasSubstr("did you mean pretty?"));
  EXPECT_THAT(ErrorOf({"run", "--target", "native", "--web", "internett"}),
              HasSubstr("did you mean internet?"));
}

TEST(OptionsTest, SaysWhichValueIsMissing) {
  EXPECT_EQ(ErrorOf({"run", "native", "--limit"}), "--limit needs a value: --limit N");
  EXPECT_EQ(ErrorOf({"cancel", "--agents"}), "--agents needs a value: --agents ADDRESS,...");
}

TEST(OptionsTest, RefusesWhatMakesNoSense) {
  EXPECT_THAT(ErrorOf({"run", "native", "--limit", "0"}), HasSubstr("--limit: '0'"));
  EXPECT_THAT(ErrorOf({"run"}), HasSubstr("--target"));
  EXPECT_THAT(ErrorOf({"run", "--target", "native", "x"}), HasSubstr("not expected"));
  EXPECT_THAT(ErrorOf({"run", "--target"}), HasSubstr("--target"));
  for (const char* value : {"0", "-1", "1.5", "100001", "", "1e3"}) {
    EXPECT_THAT(ErrorOf({"run", "--target", "native", "--concurrency", value}),
                HasSubstr("whole number"))
        << value;
  }
  for (const char* value : {"-1", "nan", "inf", "1h", "1e99"}) {
    EXPECT_THAT(ErrorOf({"run", "--target", "native", "--duration", value}), HasSubstr("seconds"))
        << value;
  }
  EXPECT_THAT(ErrorOf({"run", "--target", "native", "--user-agent", "a\r\nb"}),
              HasSubstr("control character"));
  EXPECT_THAT(ErrorOf({"run", "--target", "native", "--seed", "1", "--seed", "2"}),
              HasSubstr("2 times"));
}

AgentEndpoint Endpoint(std::string address, std::string name = "") {
  return {.address = std::move(address), .name = std::move(name)};
}

TEST(OptionsTest, TakesAgentsByCommaAndByRepetition) {
  EXPECT_THAT(
      ParseRun({"--agents", "127.0.0.1,localhost:80", "--agents", "unix:/a,[::1]:9"}).agents,
      ElementsAre(Endpoint("127.0.0.1:7311"), Endpoint("localhost:80"), Endpoint("unix:/a"),
                  Endpoint("[::1]:9")));
  EXPECT_THAT(ErrorOf({"run", "--target", "native", "--agents", "localhost,localhost"}),
              HasSubstr("twice"));
  EXPECT_THAT(ErrorOf({"run", "--target", "native", "--agents", "a:b"}),
              HasSubstr("not an address"));
  EXPECT_THAT(ErrorOf({"run", "--target", "native", "--agents", ""}), HasSubstr("not an address"));
}

// Also where it would go unseen, as in a log or a terminal.
TEST(OptionsTest, AnAddressThatCannotBeOneIsRefusedAndShownInOneLine) {
  for (const std::string command : {"run", "agents", "cancel"}) {
    for (const std::string value :
         {"a\nb", "a\tb", "a b", "a\rb:1", "\x1b[31mhost", "host\x7f", "unix:/tmp/a\nb",
          "n\nm=host", "name=a\nb", "host:1\n", "[::1\n]:9", "good,a\nb"}) {
      std::vector<std::string> arguments{command, "--agents", value};
      if (command == "run") arguments.emplace_back("native");
      const std::string error = ErrorOf(arguments);
      EXPECT_THAT(error, HasSubstr("is not ")) << value;
      EXPECT_TRUE(std::none_of(error.begin(), error.end(), [](unsigned char c) {
        return c < 0x20 || c == 0x7f;
      })) << error;
    }
  }
  EXPECT_THAT(ErrorOf({"run", "native", "--origin", "a\nb:80"}), HasSubstr("'a\\x0ab:80' is not"));
  EXPECT_THAT(ParseRun({"--agents", "unix:/tmp/a b"}).agents, SizeIs(1))
      << "a path may have blanks";
}

TEST(OptionsTest, TakesAnAgentsNameBeforeItsAddress) {
  EXPECT_THAT(ParseRun({"--agents", "a-1=127.0.0.1,b.test=localhost:80,unix:/x=y"}).agents,
              ElementsAre(Endpoint("127.0.0.1:7311", "a-1"), Endpoint("localhost:80", "b.test"),
                          Endpoint("unix:/x=y")));
  EXPECT_THAT(ErrorOf({"run", "--target", "native", "--agents", "a=localhost,a=127.0.0.1"}),
              HasSubstr("agent a is named twice"));
  for (const char* value : {"=localhost", "a b=localhost", "a=b=localhost", "a="}) {
    EXPECT_THAT(ErrorOf({"run", "--target", "native", "--agents", value}), HasSubstr("is not"))
        << value;
  }
}

TEST(OptionsTest, AgentsElsewhereNeedAnOriginTheyCanReach) {
  EXPECT_THAT(ErrorOf({"run", "--target", "native", "--agents", "10.0.0.1"}),
              HasSubstr("--origin"));
  EXPECT_EQ(ParseRun({"--agents", "10.0.0.1", "--origin", "http://10.0.0.2:80/"}).origin,
            "10.0.0.2:80");
  EXPECT_EQ(ParseRun({"--agents", "10.0.0.1", "--web", "internet"}).web, Web::kInternet);
  EXPECT_THAT(
      ErrorOf({"run", "--target", "native", "--web", "internet", "--origin", "10.0.0.2:80"}),
      HasSubstr("--origin"));
}

TEST(OptionsTest, TakesAProfileWithTheSimulatedWeb) {
  EXPECT_EQ(ParseRun({"--web", "sim:fast"}).profile, "fast");
  EXPECT_EQ(ParseRun({"--web", "sim:./a:b.json"}).profile, "./a:b.json");
}

TEST(OptionsTest, PrintsManualsAndVersion) {
  for (const char* command : {"run", "resume", "agents", "cancel", "targets", "import-urls"}) {
    const auto options = Parse({command, "--help"});
    ASSERT_TRUE(options.ok());
    EXPECT_EQ(options->command, Command::kPrintText);
    EXPECT_THAT(options->text, HasSubstr("EXIT STATUS")) << command;
  }
  EXPECT_THAT(Parse({})->text, HasSubstr("import-urls"));
  EXPECT_THAT(Parse({"--version"})->text, HasSubstr("fetchbench "));
}

TEST(OptionsTest, AdviceNamesTheProgramAsItWasCalled) {
  EXPECT_THAT(ErrorOf({"run", "--nonsense"}), HasSubstr("`coordinator run --help`"));
  const auto said = [](const std::vector<std::string>& arguments) {
    const auto options = Parse(arguments, {{"FETCHBENCH_PROGRAM_NAME", "bin/coordinator"}});
    return options.ok() ? options->text : std::string(options.status().message());
  };
  EXPECT_THAT(said({"run", "--nonsense"}), HasSubstr("`bin/coordinator run --help`"));
  EXPECT_THAT(said({"nonsense"}), HasSubstr("`bin/coordinator --help`"));
  EXPECT_THAT(said({"run", "--help"}), HasSubstr("\n  bin/coordinator run TARGET "));
  EXPECT_THAT(said({"run", "--help"}), HasSubstr("what `bin/coordinator resume` needs"));
  EXPECT_THAT(said({"resume", "--help"}), HasSubstr("whose coordinator was killed"));
  const Environment blank = [](std::string_view) {
    return std::optional<std::string>("my copy/c");
  };
  EXPECT_EQ(ProgramName(blank), "'my copy/c'");
}

TEST(OptionsTest, ManualKeepsTo80Columns) {
  for (const std::string& command : CommandNames()) {
    std::istringstream text(Parse({command, "--help"})->text);
    for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(OptionsTest, ResumeTakesARunAndLeavesTheRestAsItWas) {
  const auto newest = Parse({"resume"});
  ASSERT_TRUE(newest.ok()) << newest.status();
  EXPECT_EQ(newest->command, Command::kResume);
  EXPECT_EQ(newest->resume.run, "");
  EXPECT_FALSE(newest->resume.duration);
  const auto named = Parse({"resume", "out/r1", "--duration", "0", "--give-up-after", "1.5",
                            "--origin", "10.0.0.5:8000", "--format", "json"});
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(named->resume.run, "out/r1");
  EXPECT_EQ(named->resume.duration->count(), 0);
  EXPECT_EQ(*named->resume.give_up_after, milliseconds(1500));
  EXPECT_EQ(*named->resume.origin, "10.0.0.5:8000");
  EXPECT_EQ(named->resume.format, ReportFormat::kJson);
  EXPECT_THAT(ErrorOf({"resume", "a", "b"}), HasSubstr("not expected"));
  EXPECT_THAT(ErrorOf({"resume", "--urls", "list"}), HasSubstr("unknown option --urls"));
}

TEST(OptionsTest, ARunWaitsForAgentsForEverAndOneOfManyDoesNot) {
  EXPECT_EQ(ParseRun({}).give_up_after.count(), 0);
  EXPECT_EQ(ParseRun({"--give-up-after", "90"}).give_up_after, milliseconds(90'000));
  EXPECT_GT(Parse({"bench"})->bench.run.give_up_after.count(), 0);
  EXPECT_GT(Parse({"verify"})->verify.run.give_up_after.count(), 0);
}

TEST(OptionsTest, ReadsTheOtherCommands) {
  EXPECT_THAT(Parse({"agents"})->agents, ElementsAre()) << "those of an inventory";
  EXPECT_EQ(Parse({"agents", "--inventory", "hosts", "--format", "json"})->inventory, "hosts");
  EXPECT_THAT(ErrorOf({"agents", "--inventory", "hosts", "--agents", "10.0.0.1"}),
              HasSubstr("--agents and --inventory"));
  EXPECT_THAT(ErrorOf({"run", "native", "--inventory", "hosts", "--agents", "10.0.0.1"}),
              HasSubstr("--agents and --inventory"));
  EXPECT_THAT(ErrorOf({"agents", "--format", "jason"}), HasSubstr("did you mean json?"));
  EXPECT_THAT(Parse({"cancel", "--agents", "10.0.0.1"})->agents,
              ElementsAre(Endpoint("10.0.0.1:7311")));
  const auto import = Parse({"import-urls", "--input-format", "tranco", "list.csv"});
  ASSERT_TRUE(import.ok()) << import.status();
  EXPECT_EQ(import->import.format, "tranco");
  EXPECT_EQ(import->import.file, "list.csv");
}

TEST(SuggestTest, FindsTheNearestOrNothing) {
  EXPECT_EQ(Suggest("nativ", {"native", "rust"}), "native");
  EXPECT_EQ(Suggest("antive", {"native", "rust"}), "native");
  EXPECT_EQ(Suggest("zzz", {"native", "rust"}), "");
  EXPECT_EQ(Suggest("", {"native"}), "");
}

}  // namespace
}  // namespace fetchbench::coordinator
