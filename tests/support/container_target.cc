// A target for tests of containers: static, so that an image needs nothing else, and with the
// standard library only. What it does is told by USER_AGENT: words separated by blanks. N counts
// answers.
//
// - exit-after=N: exits with code 3, words on stderr
// - hang-after=N: reads on and answers nothing
// - stay: does not exit at the end of its input
// - ignore-term: ignores SIGTERM
// - garbage=K: K lines of noise before each answer
// - twice: prints every answer twice
// - unasked: first a record nobody asked for
// - long-line=BYTES: first a line of that many bytes
// - half-line: ends in mid-line, with code 1
// - eat=MIB: takes that much memory before the first answer; with try=N at once
// - burn=MS: that much CPU time before the first answer
// - pause=MS: that much time before each answer
// - sockets=N: that many open sockets
// - dial=PORT: tries to reach its gateway there, and says to stderr what came of it
// - tell: what it sees of its container, to stderr
//
// With --bare before --describe it says less than it should.

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using Words = std::map<std::string, long>;

Words ReadWords() {
  Words words;
  const char* text = std::getenv("USER_AGENT");
  std::istringstream in(text == nullptr ? "" : text);
  std::string word;
  while (in >> word) {
    const size_t equals = word.find('=');
    words[word.substr(0, equals)] =
        equals == std::string::npos ? 1 : std::strtol(word.c_str() + equals + 1, nullptr, 10);
  }
  return words;
}

long Value(const Words& words, const std::string& word) {
  const auto it = words.find(word);
  return it == words.end() ? -1 : it->second;
}

void Print(const std::string& text) { std::cout << text << std::flush; }

std::string Answer(const std::string& url) {
  return url + ",200,2023-11-14T22:13:20.123Z,1.5,77\n";
}

[[noreturn]] void Sleep() {
  while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
}

std::string ReadFile(const char* path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

void Tell() {
  const auto env = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "none" : value);
  };
  for (const char* name : {"CONCURRENCY", "REQUEST_TIMEOUT", "SSL_CERT_FILE"}) {
    std::cerr << name << " " << env(name) << '\n';
  }
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  std::cerr << "uid " << getuid() << " nofile " << files.rlim_max << '\n';
  std::cerr << "ca " << ReadFile(env("CA_FILE").c_str()) << '\n';
  std::cerr << "resolv " << ReadFile("/etc/resolv.conf") << '\n';
  const int root = open("/x", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  const int tmp = open("/tmp/x", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  std::cerr << "root " << (root < 0 ? "read-only" : "writable") << " tmp "
            << (tmp < 0 ? "read-only" : "writable") << '\n';
  const std::string status = ReadFile("/proc/self/status");
  std::cerr << status.substr(status.find("CapEff"), 24) << std::endl;
}

// The default route's, in network byte order; 0: none.
uint32_t Gateway() {
  std::istringstream in(ReadFile("/proc/net/route"));
  std::string device;
  uint32_t to = 0;
  uint32_t via = 0;
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    if (fields >> device >> std::hex >> to >> via && to == 0) return via;
  }
  return 0;
}

void Dial(long port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = Gateway();
  const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool open = connect(s, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  const std::string why = errno == ECONNREFUSED ? "refused" : strerror(errno);
  std::cerr << std::string("gateway ") + (open ? "open" : why) + "\n" << std::flush;
  close(s);
}

void Eat(long mib) {
  std::vector<std::vector<char>> memory;
  for (long i = 0; i < mib; ++i) memory.emplace_back(1 << 20, 'x');
}

void Burn(long ms) {
  const std::clock_t end = std::clock() + ms * (CLOCKS_PER_SEC / 1000);
  while (std::clock() < end) {
  }
}

void Before(const Words& words) {
  if (words.count("ignore-term") > 0) signal(SIGTERM, SIG_IGN);
  if (words.count("tell") > 0) Tell();
  if (words.count("dial") > 0) Dial(Value(words, "dial"));
  if (words.count("unasked") > 0) Print(Answer("https://never.asked/"));
  for (long i = 0; i < Value(words, "sockets"); ++i) socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const long line = Value(words, "long-line");
  const std::string piece(1 << 20, 'x');
  for (long left = line; left > 0; left -= static_cast<long>(piece.size())) {
    Print(piece.substr(0, static_cast<size_t>(left)));
  }
  if (line > 0) Print("\n");
}

void AnswerOne(const Words& words, const std::string& url, long n) {
  if (n == 0) {
    Eat(Value(words, "eat"));
    Burn(Value(words, "burn"));
  }
  if (n == Value(words, "hang-after")) {
    std::string line;
    while (std::getline(std::cin, line)) {
    }
    Sleep();
  }
  if (n == Value(words, "exit-after")) {
    std::cerr << "first words\nsegmentation of my memory" << std::endl;
    std::_Exit(3);
  }
  const long pause = Value(words, "pause");
  if (pause > 0) std::this_thread::sleep_for(std::chrono::milliseconds(pause));
  for (long i = 0; i < Value(words, "garbage"); ++i) Print("noise,,\xff\xfe\n");
  Print(Answer(url));
  if (words.count("twice") > 0) Print(Answer(url));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--describe") == 0) {
    Print(R"({"name":"test/scripted","runtime":"C++","libraries":["a 1"],"libc":"static"})"
          "\n");
    return 0;
  }
  if (argc > 2 && std::strcmp(argv[1], "--bare") == 0) {
    Print("{\"name\":\"test/scripted\"}\n");
    return 0;
  }
  const Words words = ReadWords();
  Before(words);
  if (words.count("try") > 0) Eat(Value(words, "eat"));
  std::string url;
  long n = 0;
  while (std::getline(std::cin, url)) AnswerOne(words, url, n++);
  if (words.count("half-line") > 0) {
    Print("https://u0.test/,200,2023-11-14T22:13:20.1Z,5,7");
    return 1;
  }
  if (words.count("stay") > 0) Sleep();
  return 0;
}
