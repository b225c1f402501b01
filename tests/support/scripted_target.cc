// A target that does as it is told, for tests of the agent. It takes native's options; the script
// is the value of --user-agent: words separated by blanks. N counts answers.
//
// - jsonl: answers in JSON lines
// - slow=MS: waits before each answer
// - kill-after=N: SIGKILL to itself
// - exit-after=N: exits with code 3, words on stderr
// - quit-after=N: exits with code 0
// - hang-after=N: reads on and answers nothing
// - deaf: never reads
// - garbage=K: K lines of noise before each answer
// - twice: prints every answer twice
// - unasked: first a record nobody asked for
// - long-line=BYTES: first a line of that many bytes
// - half-line: ends in mid-line, with code 1
// - stay: does not exit at the end of its input
// - ignore-term: ignores SIGTERM
// - cancels: after SIGTERM prints one cancelled record and exits with code 143
// - orphan: leaves a child behind that holds the pipes
// - bad-utf8: first bytes that are no text on stderr
// - tell: arguments, CA file, CPUs, process group and CONCURRENCY to stderr

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <thread>

#include "common/record_line.h"

namespace fetchbench {
namespace {

std::atomic<bool> terminated{false};

class Script {
 public:
  explicit Script(const std::string& text) {
    std::istringstream in(text);
    std::string word;
    while (in >> word) {
      const size_t equals = word.find('=');
      const bool valued = equals != std::string::npos;
      words_[word.substr(0, equals)] =
          valued ? std::strtol(word.c_str() + equals + 1, nullptr, 10) : 1;
    }
  }
  bool Has(const std::string& word) const { return words_.count(word) > 0; }
  long Value(const std::string& word) const { return Has(word) ? words_.at(word) : -1; }

 private:
  std::map<std::string, long> words_;
};

void Print(const std::string& text) {
  std::cout << text << std::flush;  // each answer at once, as a test expects it
}

std::string Answer(const std::string& url, Outcome outcome, bool json) {
  Record r;
  r.outcome = outcome;
  r.status = outcome == Outcome::kStatus ? 200 : 0;
  r.start_us = 1'700'000'000'000'000;
  r.duration_us = 1'500;
  r.body_bytes = 77;
  std::string line;
  if (json) {
    r.connect_us = 300;
    r.http_version = "1.1";
    AppendJsonLine(line, url, r);
  } else {
    AppendPlainLine(line, url, r);
  }
  return line;
}

void Tell(int argc, char** argv) {
  for (int i = 0; i < argc; ++i) std::cerr << "arg " << argv[i] << '\n';
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string(argv[i]) != "--ca-file") continue;
    std::ifstream in(argv[i + 1]);
    std::cerr << "ca " << std::string(std::istreambuf_iterator<char>(in), {}) << '\n';
  }
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  std::cerr << "cpus " << CPU_COUNT(&set) << '\n';
  std::cerr << "group " << (getpgrp() == getpid() ? "own" : "shared") << '\n';
  const char* concurrency = std::getenv("CONCURRENCY");
  std::cerr << "env " << (concurrency == nullptr ? "none" : concurrency) << std::endl;
}

void Sleep(long ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

[[noreturn]] void Hang() {
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  while (true) Sleep(1000);
}

// What happens instead of the n-th answer.
void MaybeDie(const Script& script, long n) {
  if (n == script.Value("kill-after")) raise(SIGKILL);
  if (n == script.Value("hang-after")) Hang();
  if (n == script.Value("quit-after")) std::_Exit(0);
  if (n == script.Value("exit-after")) {
    std::cerr << "first words\nsegmentation of my memory" << std::endl;
    std::_Exit(3);
  }
}

void AnswerOne(const Script& script, const std::string& url, long n) {
  MaybeDie(script, n);
  if (script.Has("slow")) Sleep(script.Value("slow"));
  for (long i = 0; i < script.Value("garbage"); ++i) Print(fmt::format("noise {},,\xff\xfe\n", i));
  const std::string answer = Answer(url, Outcome::kStatus, script.Has("jsonl"));
  if (terminated && script.Has("cancels")) {
    Print(Answer(url, Outcome::kCancelled, false));
    std::_Exit(143);
  }
  Print(answer);
  if (script.Has("twice")) Print(answer);
}

void Before(const Script& script) {
  if (script.Has("orphan") && fork() == 0) {
    while (true) Sleep(1000);
  }
  if (script.Has("bad-utf8")) std::cerr << "bytes \xff\xfe of no text" << std::endl;
  if (script.Has("unasked")) Print(Answer("https://never.asked/", Outcome::kStatus, false));
  if (script.Has("long-line")) {
    Print(std::string(static_cast<size_t>(script.Value("long-line")), 'x') + "\n");
  }
  if (script.Has("deaf")) {
    while (true) Sleep(1000);
  }
}

int Run(const Script& script) {
  if (script.Has("ignore-term")) signal(SIGTERM, SIG_IGN);
  if (script.Has("cancels")) {
    signal(SIGTERM, [](int) { terminated = true; });
  }
  Before(script);
  std::string url;
  long n = 0;
  while (std::getline(std::cin, url)) AnswerOne(script, url, n++);
  if (script.Has("half-line")) {
    Print("https://u0.test/,200,2023-11-14T22:13:20.1Z,5,7");
    return 1;
  }
  while (script.Has("stay")) Sleep(1000);
  return 0;
}

}  // namespace
}  // namespace fetchbench

int main(int argc, char** argv) {
  std::string text;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--describe") {
      std::cout
          << R"({"name":"scripted","version":"1.2","runtime":"C++","libraries":["a 1","b 2"],)"
          << R"("tls_library":"none","tls_groups":"X25519","libc":"glibc"})" << '\n';
      return 0;
    }
    if (arg == "--user-agent" && i + 1 < argc) text = argv[i + 1];
  }
  const fetchbench::Script script(text);
  if (script.Has("tell")) fetchbench::Tell(argc, argv);
  return fetchbench::Run(script);
}
