#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <thread>

#include "probe/attack.h"
#include "probe/dial.h"

namespace cloche::probe {
namespace {

constexpr int kPatienceMs = 5000;
constexpr int kAnswerMs = 400;  // for those who shall get none
constexpr size_t kMostTold = 16 << 10;

// "666f6f" is foo; "61*3" is aaa.
std::string FromHex(const std::string& text) {
  if (const size_t plus = text.find('+'); plus != std::string::npos)
    return FromHex(text.substr(0, plus)) + FromHex(text.substr(plus + 1));
  std::string bytes;
  const size_t star = std::min(text.find('*'), text.size());
  for (size_t i = 0; i + 1 < star; i += 2)
    bytes += static_cast<char>(strtoul(text.substr(i, 2).c_str(), nullptr, 16));
  if (star == text.size()) return bytes;
  std::string all;
  for (long left = atol(text.c_str() + star + 1); left > 0; --left) all += bytes;
  return all;
}

Words SplitAt(const std::string& text, char at) {
  Words parts;
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find(at, from), text.size());
    parts.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return parts;
}

bool SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    pollfd writable{fd, POLLOUT, 0};
    if (poll(&writable, 1, kPatienceMs) != 1) return false;
    const ssize_t count = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

// False at the end, or when nothing comes.
bool Receive(int fd, int patience_ms, std::string& into) {
  pollfd readable{fd, POLLIN, 0};
  char buffer[16384];
  if (poll(&readable, 1, patience_ms) != 1) return false;
  const ssize_t count = read(fd, buffer, sizeof buffer);
  if (count > 0 && into.size() < sizeof buffer) into.append(buffer, static_cast<size_t>(count));
  return count > 0;
}

// A question for an address, as a resolver in libc asks it.
std::string DnsQuestion(const std::string& name) {
  std::string message("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", 12);
  for (const std::string& label : SplitAt(name, '.')) {
    if (label.empty() || label.size() > 63) continue;
    message += static_cast<char>(label.size());
    message += label;
  }
  return message + std::string("\0\0\1\0\1", 5);
}

std::string AskFor(const std::string& name, const std::string& server) {
  const std::string question = DnsQuestion(name);
  const int fd = Connect(ParseAddress(server, 53), SOCK_DGRAM);
  std::string answer;
  if (fd < 0) return answer;
  (void)!send(fd, question.data(), question.size(), MSG_NOSIGNAL);
  Receive(fd, 2000, answer);
  close(fd);
  // The last four bytes of an answer with one address are that address.
  if (answer.size() < question.size() + 16 || answer[7] == 0) return "";
  const auto* last = reinterpret_cast<const unsigned char*>(answer.data() + question.size() + 12);
  return fmt::format("{}.{}.{}.{}", last[0], last[1], last[2], last[3]);
}

Address Find(const std::string& host, int port) {
  const Address address = ParseAddress(host, port);
  return address.family != AF_UNSPEC ? address : ParseAddress(AskFor(host, "127.0.0.1"), port);
}

// The endpoint that CLOCHE_PROXY names; without one, as outside, the server itself.
Address Proxy(int port) {
  const char* value = getenv("CLOCHE_PROXY");
  const std::string text = value != nullptr ? value : "";
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return ParseAddress("127.0.0.1", port);
  return ParseAddress("127.0.0.1", atoi(text.c_str() + colon + 1));
}

// {PROBE_TOKEN} is what the sandbox has in that variable.
std::string WithVariable(std::string text) {
  constexpr std::string_view kName = "{PROBE_TOKEN}";
  const char* value = getenv("PROBE_TOKEN");
  for (size_t at; value != nullptr && (at = text.find(kName)) != std::string::npos;)
    text.replace(at, kName.size(), value);
  return text;
}

// Sends all parts, waits for an answer after each, and returns the last one.
std::string Converse(int fd, const Words& parts) {
  std::string answer;
  for (size_t i = 0; i < parts.size(); ++i) {
    answer.clear();
    if (!SendAll(fd, WithVariable(FromHex(parts[i])))) break;
    const bool last = i + 1 == parts.size();
    if (!Receive(fd, last ? kAnswerMs : kPatienceMs, answer) && !last) break;
  }
  // A reader that waits for more learns that there is none.
  shutdown(fd, SHUT_WR);
  while (Receive(fd, kPatienceMs, answer)) {
  }
  return answer;
}

// Acts as a client that follows every redirect.
void Follow(const std::string& answer) {
  constexpr std::string_view kScheme = "Location: http://";
  const size_t at = answer.find(kScheme);
  if (at == std::string::npos) return;
  const std::string url =
      answer.substr(at + kScheme.size(), answer.find('\r', at) - at - kScheme.size());
  const size_t colon = url.find(':'), slash = url.find('/');
  if (colon > slash || slash == std::string::npos) return;
  const int fd = Connect(Find(url.substr(0, colon), atoi(url.c_str() + colon + 1)), SOCK_STREAM);
  if (fd < 0) return;
  SendAll(fd, fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
                          url.substr(slash), url.substr(0, slash)));
  std::string rest;
  while (Receive(fd, kPatienceMs, rest)) {
  }
  close(fd);
}

// Words, four for each conversation: direct, proxy or follow; host; port; what is said, in parts,
// in hex. All at once.
void Speak(Attempt& attempt) {
  std::vector<std::thread> threads;
  Words answers(attempt.words.size() / 4);
  for (size_t i = 0; i < answers.size(); ++i)
    threads.emplace_back([&, i] {
      const std::string* word = &attempt.words[4 * i];
      const int port = atoi(word[2].c_str());
      const int fd = Connect(word[0] == "proxy" ? Proxy(port) : Find(word[1], port), SOCK_STREAM);
      if (fd < 0) return;
      answers[i] = Converse(fd, SplitAt(word[3], ','));
      close(fd);
      if (word[0] == "follow") Follow(answers[i]);
    });
  for (std::thread& thread : threads) thread.join();
  nlohmann::json shown = nlohmann::json::array();
  for (const std::string& answer : answers) {
    if (answer.find(" 200 ") == std::string::npos) attempt.Refused();
    shown.push_back(answer.substr(0, 200));
  }
  attempt.Set("replies", std::move(shown));
}

// The same by a process with a forged name; it stays, so that the judge can look up its owner.
void SpeakAsForger(Attempt& attempt) {
  prctl(PR_SET_NAME, "\x1b[31m\nforged");
  Speak(attempt);
  const int stays = Connect(Find(attempt.words[1], atoi(attempt.words[2].c_str())), SOCK_STREAM);
  SendAll(stays,
          fmt::format("GET /stays HTTP/1.1\r\nHost: host.cloche:{}\r\n\r\n", attempt.words[2]));
  std::string answer;
  Receive(stays, kPatienceMs, answer);
  attempt.ReadyAndHold();
}

// Words: host, port, how many. Connections that begin a request and never end it.
void Hog(Attempt& attempt) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const Address to = Find(attempt.words[0], atoi(attempt.words[1].c_str()));
  int open = 0;
  for (int left = atoi(attempt.words[2].c_str()); left > 0; --left) {
    const int fd = Connect(to, SOCK_STREAM);
    if (fd < 0) {
      attempt.Refused();
      continue;
    }
    (void)!send(fd, "GET /slow HTTP/1.1\r\nHost: ", 26, MSG_NOSIGNAL);
    ++open;
  }
  attempt.Set("open", open);
  attempt.ReadyAndHold();
}

// Words: host and port that are granted, an address and port that are not. Tries both for as long
// as the judge wants, one after the other, with one connection that stays.
void KeepTrying(Attempt& attempt) {
  const Address granted = Find(attempt.words[0], atoi(attempt.words[1].c_str()));
  const Address other = Find(attempt.words[2], atoi(attempt.words[3].c_str()));
  const int stays = Connect(granted, SOCK_STREAM);
  SendAll(stays, "x");
  (void)!write(STDOUT_FILENO, "ready\n", 6);
  for (pollfd judge{STDIN_FILENO, POLLIN, 0}; poll(&judge, 1, 0) == 0;)
    for (const Address& to : {other, granted}) {
      const int fd = Connect(to, SOCK_STREAM);
      if (fd >= 0) (void)!send(fd, "forbidden", 9, MSG_NOSIGNAL);
      if (fd >= 0) close(fd);
    }
  std::string rest;
  while (Receive(stays, kPatienceMs, rest)) {
  }
  // The first may only fetch the reset.
  const std::string ping = "still open";
  const bool first = SendAll(stays, ping);
  const bool second = SendAll(stays, ping);
  attempt.Set("cut", !first || !second);
}

// Words: a name, then servers. By datagram and by stream, with the name in capitals, too.
void AskNames(Attempt& attempt) {
  for (size_t i = 1; i < attempt.words.size(); ++i) {
    const std::string address = AskFor(attempt.words[0], attempt.words[i]);
    if (address.empty()) attempt.Refused();
    attempt.Set("found", address);
    const std::string question = DnsQuestion(attempt.words[0]);
    const int fd = Connect(ParseAddress(attempt.words[i], 53), SOCK_STREAM);
    if (fd < 0) continue;
    SendAll(fd, std::string{'\0', static_cast<char>(question.size())} + question);
    std::string answer;
    Receive(fd, 2000, answer);
    close(fd);
  }
}

// Words: a port, then addresses, of the host. Tries protocols other than TCP.
void NoTcp(Attempt& attempt) {
  constexpr int kSctp = 132, kUdpLite = 136, kMultipath = 262;
  const int port = atoi(attempt.words[0].c_str());
  for (size_t i = 1; i < attempt.words.size(); ++i) {
    const Address to = ParseAddress(attempt.words[i], port);
    Address any = to;  // ICMP has no ports
    reinterpret_cast<sockaddr_in&>(any.bytes).sin_port = 0;
    const char quic[] = "\xc0\0\0\0\1forbidden";
    for (const auto& [type, protocol] : {std::pair{SOCK_DGRAM, 0},
                                         {SOCK_DGRAM, kUdpLite},
                                         {SOCK_DGRAM, IPPROTO_ICMP},
                                         {SOCK_RAW, IPPROTO_ICMP},
                                         {SOCK_RAW, IPPROTO_UDP},
                                         {SOCK_RAW, IPPROTO_RAW},
                                         {SOCK_SEQPACKET, kSctp},
                                         {SOCK_STREAM, kSctp},
                                         {SOCK_STREAM, kMultipath}}) {
      const bool ports = protocol != IPPROTO_ICMP && type != SOCK_RAW;
      const int fd = Connect(ports ? to : any, type, protocol);
      if (fd < 0 || send(fd, quic, sizeof quic - 1, MSG_NOSIGNAL) < 0) attempt.Refused();
      if (fd >= 0) close(fd);
    }
  }
}

// Words: directories. Private keys in them, in /dev/cloche and among the variables.
void FindKeys(Attempt& attempt) {
  constexpr const char* kKey = "PRIVATE KEY";
  Words directories = attempt.words;
  directories.push_back("/dev/cloche");
  for (const std::string& directory : directories)
    Walk(directory, 8, [&](const std::string& path) {
      if (ReadAll(path, 1 << 20).find(kKey) != std::string::npos)
        attempt.Got("a private key in " + path);
    });
  if (ReadAll("/proc/self/environ").find(kKey) != std::string::npos)
    attempt.Got("a private key among the variables");
  attempt.Data(ReadAll("/dev/cloche/ca.crt"));
}

// Everything a program can say of itself without asking anybody.
void TellVariables(Attempt& attempt) { attempt.Data(ReadAll("/proc/self/environ")); }

// A server on the host that believes everything, and reports every byte to the judge. Words:
// addresses beside loopback.
class Server {
 public:
  explicit Server(const Words& addresses) {
    Words all = {"127.0.0.1", "::1"};
    all.insert(all.end(), addresses.begin(), addresses.end());
    for (const std::string& address : all) Listen(address);
  }
  int port() const { return port_; }
  void Serve();

 private:
  struct Peer {
    std::string at;
    int number = 0;
    bool listens = false, datagrams = false;
    size_t told = 0;
  };
  void Listen(const std::string& address);
  void Take(int fd);
  // Nobody may be reading: of long ones, only the beginning and the length.
  void Tell(Peer& peer, std::string_view bytes) {
    const std::string_view shown = bytes.substr(0, kMostTold - std::min(kMostTold, peer.told));
    peer.told += shown.size();
    const nlohmann::json line = {
        {"at", peer.at}, {"data", shown}, {"id", peer.number}, {"size", bytes.size()}};
    const std::string text =
        line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    for (std::string_view rest = text; !rest.empty();) {
      const ssize_t count = write(STDOUT_FILENO, rest.data(), rest.size());
      if (count <= 0) return;
      rest.remove_prefix(static_cast<size_t>(count));
    }
  }

  std::map<int, Peer> peers_;
  int port_ = 0, connections_ = 0;
};

void Server::Listen(const std::string& address) {
  for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
    Address at = ParseAddress(address, port_);
    const int fd = socket(at.family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (bind(fd, reinterpret_cast<const sockaddr*>(&at.bytes), at.size) != 0) {
      close(fd);
      continue;
    }
    getsockname(fd, reinterpret_cast<sockaddr*>(&at.bytes), &at.size);
    port_ = ntohs(reinterpret_cast<sockaddr_in&>(at.bytes).sin_port);
    if (type == SOCK_STREAM) listen(fd, 4096);
    peers_[fd] = {address, 0, type == SOCK_STREAM, type == SOCK_DGRAM};
  }
}

void Server::Take(int fd) {
  Peer& peer = peers_[fd];
  if (peer.listens) {
    const int client = accept4(fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0) return;
    peers_[client] = {peer.at, ++connections_};
    Tell(peers_[client], "");
    return;
  }
  char buffer[65536];
  const ssize_t count = recv(fd, buffer, sizeof buffer, 0);
  if (count <= 0) {
    if (peer.datagrams || (count < 0 && errno == EAGAIN)) return;
    close(fd);
    peers_.erase(fd);
    return;
  }
  const std::string_view bytes(buffer, static_cast<size_t>(count));
  Tell(peer, bytes);
  if (peer.datagrams) return;
  constexpr std::string_view kTo = "?to=";
  std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  if (const size_t to = bytes.find(kTo); to != bytes.npos) {
    const std::string_view url = bytes.substr(to + kTo.size());
    answer = fmt::format("HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n",
                         url.substr(0, url.find(' ')));
  }
  (void)!send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
}

void Server::Serve() {
  for (;;) {
    std::vector<pollfd> waits = {{STDIN_FILENO, 0, 0}};  // whoever started us is gone with it
    for (const auto& [fd, peer] : peers_) waits.push_back({fd, POLLIN, 0});
    if (poll(waits.data(), waits.size(), -1) < 0 || waits[0].revents != 0) return;
    for (const pollfd& each : waits)
      if (each.revents != 0) Take(each.fd);
  }
}

void Believe(Attempt& attempt) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  fcntl(STDOUT_FILENO, F_SETPIPE_SZ, 1 << 20);
  Server server(attempt.words);
  const std::string ready = fmt::format("port {} ready\n", server.port());
  (void)!write(STDOUT_FILENO, ready.data(), ready.size());
  server.Serve();
}

constexpr Attack kAttacks[] = {
    {"speak", Speak},
    {"speak-as-forger", SpeakAsForger},
    {"hog", Hog},
    {"keep-trying", KeepTrying},
    {"ask-names", AskNames},
    {"no-tcp", NoTcp},
    {"find-keys", FindKeys},
    {"variables", TellVariables},
    {"believe", Believe},
};

}  // namespace

std::span<const Attack> BorderAttacks() { return kAttacks; }

}  // namespace cloche::probe
