#include "coordinator/cli/manual.h"

#include <fmt/format.h>

namespace fetchbench::coordinator {
namespace {

constexpr size_t kColumns = 80;

// Words of `text` in lines, each indented.
std::string Wrap(std::string_view text, size_t indent) {
  std::string out;
  std::string line;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (!line.empty() && indent + line.size() + 1 + word.size() > kColumns) {
      out += fmt::format("{:{}}{}\n", "", indent, line);
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
    begin = end + 1;
  }
  return out + fmt::format("{:{}}{}\n", "", indent, line);
}

std::string OptionsSection(const std::vector<Setting>& settings) {
  std::string out = "OPTIONS\n";
  for (const Setting& s : settings) {
    out += fmt::format("  {}{}{}", s.option, s.argument.empty() ? "" : " ", s.argument);
    if (!s.variable.empty()) out += fmt::format("   [environment: {}]", s.variable);
    out += '\n';
    out += Wrap(s.help, 8);
  }
  return out + "  --help\n        This page.\n\n";
}

constexpr const char* kExitSection =
    "EXIT STATUS\n"
    "  0    done; also when DURATION was reached, or when a disturbed run still\n"
    "       completed (it says so)\n"
    "  1    internal error, for example a full disk (the run can be resumed)\n"
    "  2    wrong usage or configuration\n"
    "  3    the run is incomplete: agents were lost for good, the origin that was\n"
    "       named did not answer, the target crashed, or its image could not be built\n"
    "  4    verify: a target FAILs, or a declared deviation does not happen any more\n"
    "  130  interrupted; partial results are kept and labelled partial\n"
    "  141  the reader of --format plain or records had enough (`| head`): the run\n"
    "       was ended, and can be resumed\n\n";

constexpr const char* kRunTail =
    "FILES\n"
    "  out/<run-id>/run.json       options, versions, hosts, target, profile, seed\n"
    "  out/<run-id>/records.db     SQLite; `SELECT * FROM records` is for people\n"
    "  out/<run-id>/summary.json   the summary\n"
    "  out/<run-id>/urls.spool     the URL list as the run uses it, until complete\n"
    "  out/<run-id>/resume.json    what `coordinator resume` needs\n"
    "  out/latest                  the newest run\n\n"
    "SIGNALS\n"
    "  Ctrl-C once stops within two seconds and sums up what is there; twice stops\n"
    "  at once.\n\n"
    "EXAMPLES\n"
    "  coordinator run native --urls data/urls.txt --concurrency 150\n"
    "  echo https://edwardsnowden.com | coordinator run native\n"
    "  coordinator run native --urls urls.txt --format plain > records.txt\n"
    "  coordinator run native --urls urls.txt --web internet --duration 60\n"
    "  coordinator run native --urls urls.txt --origin 10.0.0.5:8000 \\\n"
    "      --agents 10.0.0.6:7311,10.0.0.7:7311\n"
    "  coordinator run native --urls urls.txt --web internet --inventory default\n"
    "  coordinator run rust --urls urls.txt --memory 512m --cpus 0.5\n"
    "  coordinator run go --urls urls.txt --build-arg GO_IMAGE=golang:1.26-alpine\n"
    "  sqlite3 out/latest/records.db \\\n"
    "      \"SELECT outcome, count(*) FROM records GROUP BY outcome\"\n";

constexpr const char* kProgram =
    "NAME\n"
    "  coordinator - measures how well HTTP clients handle concurrency\n\n"
    "SYNOPSIS\n"
    "  coordinator COMMAND [OPTION]...\n\n"
    "COMMANDS\n"
    "  run          Fetch every URL of a list once with a target, and account for each.\n"
    "  resume       Go on with a run that was interrupted, killed or stopped.\n"
    "  bench        Run several targets in turns over one list, and print their table.\n"
    "  verify       Check how targets behave when servers misbehave.\n"
    "  agents       Say which agents can be reached, what they are, and whether they\n"
    "               are busy.\n"
    "  cancel       End the runs that agents are busy with.\n"
    "  targets      List the targets.\n"
    "  import-urls  Turn a published list of domains (CSV) into a URL list.\n\n"
    "  coordinator COMMAND --help tells more; coordinator --version the version.\n\n";

}  // namespace

const std::vector<std::string>& CommandNames() {
  static const std::vector<std::string> names{"run",    "resume", "bench",   "verify",
                                              "agents", "cancel", "targets", "import-urls"};
  return names;
}

std::string ProgramManual() { return std::string(kProgram) + kExitSection; }

std::string RunManual(const std::vector<Setting>& settings) {
  std::string out =
      "NAME\n"
      "  coordinator run - fetches every URL of a list once and accounts for each\n\n"
      "SYNOPSIS\n"
      "  coordinator run TARGET [--urls FILE] [OPTION]...\n\n"
      "DESCRIPTION\n";
  out += Wrap(
      "Lends the URLs of a list to one or more agents, which feed them to the target and send back "
      "what happened to each. Every record is stored in the run's folder before it counts. The "
      "live "
      "display is on standard error, the summary on standard output. Without --web internet the "
      "real web is never touched: names and servers are simulated on this machine.",
      2);
  out += '\n';
  out += OptionsSection(settings);
  out += "ENVIRONMENT\n";
  out += Wrap("An option wins over its environment variable, that over the default.", 2);
  for (const Setting& s : settings) {
    if (!s.variable.empty()) out += fmt::format("  {:<16} {}\n", s.variable, s.option);
  }
  out +=
      "  DOCKER_HOST      unix:///PATH of the Docker Engine, for container targets\n"
      "  FETCHBENCH_LIB   folder of the targets, instead of lib/\n"
      "  FETCHBENCH_BASE_IMAGES\n"
      "                   file of base images, instead of build/base-images.json\n"
      "  NO_COLOR         no colours when set\n\n";
  out += kExitSection;
  return out + kRunTail;
}

std::string CommandManual(const std::string& command, const std::vector<Setting>& settings) {
  std::string out = "NAME\n  coordinator " + command;
  if (command == "resume") {
    out +=
        " - goes on with a run\n\nSYNOPSIS\n"
        "  coordinator resume [RUN] [OPTION]...\n\nDESCRIPTION\n"
        "  RUN is the id of a run or its folder; without it, the newest. Finishes a run\n"
        "  whose coordinator was killed, interrupted or stopped by a full disk, or whose\n"
        "  agents were all gone: in the same folder, with the same options, target,\n"
        "  agents, profile and seed. What has a record is not fetched again; fetches that\n"
        "  were cut short are. The time without a coordinator is left out of `time`, and\n"
        "  shown. A kill loses no record. A power cut may lose the last ones; their URLs\n"
        "  are fetched again.\n\n";
  } else if (command == "agents") {
    out +=
        " - says which agents can be reached\n\nSYNOPSIS\n"
        "  coordinator agents [--agents ADDRESS,... | --inventory FILE]\n"
        "                     [--credentials DIR] [--format json]\n\n"
        "DESCRIPTION\n"
        "  Asks all agents at once, and shows of each: address, state (free, busy with\n"
        "  which run since when, or why it cannot be reached), version, CPUs, memory,\n"
        "  Docker Engine, load over the last minute, how far its clock is from this\n"
        "  one's, when its certificate expires, and the targets that are ready. Exit\n"
        "  status 3: one could not be reached; 2: one is of another version than this\n"
        "  coordinator, or there twice, under two addresses: no run starts with it.\n\n";
  } else if (command == "bench") {
    out +=
        " - runs targets in turns and prints their table\n\nSYNOPSIS\n"
        "  coordinator bench [TARGET...] [OPTION]...\n\nDESCRIPTION\n"
        "  Runs every target of settings.json, or those named, once for warming up and\n"
        "  then in rounds, each round in an order of its own that the seed decides. The\n"
        "  table has the median of the rounds and the spread of time (half its range);\n"
        "  targets whose times overlap share a place. A target that fails is listed with\n"
        "  its reason and does not stop the others. Table, markdown, CSV and JSON are\n"
        "  kept in out/bench-<time>/, which out/bench-latest points at.\n\n";
  } else if (command == "verify") {
    out +=
        " - checks targets against misbehaving servers\n\nSYNOPSIS\n"
        "  coordinator verify [TARGET...] [OPTION]...\n\nDESCRIPTION\n"
        "  Lets each target (default: all) fetch every named behaviour of the simulated\n"
        "  web and compares what it says, and what the servers saw of it, with what the\n"
        "  request policy asks (lib/CONTRACT.md): pass, deviation (declared in its\n"
        "  target.json), or FAIL. A deadline missed, or reached where it was not\n"
        "  expected, is looked at a second time before it counts. Then come four runs\n"
        "  over many hosts: limit-in-flight, memory-10000-hosts, silent-1000-hosts and\n"
        "  slow-dns.\n\n";
  } else if (command == "cancel") {
    out +=
        " - ends the runs that agents are busy with\n\nSYNOPSIS\n"
        "  coordinator cancel [--agents ADDRESS,... | --inventory FILE]\n"
        "                     [--credentials DIR]\n\n";
  } else if (command == "targets") {
    out +=
        " - lists the targets\n\nSYNOPSIS\n  coordinator targets\n\nDESCRIPTION\n"
        "  Reads every target.json below lib/ (FETCHBENCH_LIB names another folder).\n"
        "  One that is wrong is said on standard error, and does not hide the others.\n\n";
  } else {
    out +=
        " - turns a published list of domains into a URL list\n\nSYNOPSIS\n"
        "  coordinator import-urls [--input-format FORMAT] [FILE|-]\n\n"
        "DESCRIPTION\n"
        "  Reads CSV from FILE or standard input and writes one https URL a line to\n"
        "  standard output. Lines that hold no domain are counted and skipped.\n\n";
  }
  return out + OptionsSection(settings) + kExitSection;
}

}  // namespace fetchbench::coordinator
