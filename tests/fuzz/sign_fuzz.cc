// Messages of programs inside to cloche-sign, and answers of an agent.
#include "fuzz.h"
#include "sign/agent_message.h"
#include "sign/grants.h"

namespace cloche::fuzz {

bool FuzzSign(Random& random) {
  using namespace sign;
  const std::string key = "key";
  std::string login = Framed("session") + '\x32' + Framed("git") + Framed("ssh-connection");
  login += Framed(random.OneIn(2) ? "publickey" : "publickey-hostbound-v00@openssh.com");
  login += '\x01' + Framed("ssh-ed25519") + Framed(key);
  if (login.find("hostbound") != login.npos) login += Framed("host");
  const std::string file =
      "SSHSIG" + Framed("git") + Framed("") + Framed("sha512") + Framed(std::string(64, 'h'));
  const std::string bind = "\x1b" + Framed("session-bind@openssh.com") + Framed("host") +
                           Framed("session") + Framed("signature") + '\0';
  const std::string seeds[] = {WriteSignRequest({key, login, 0}), WriteSignRequest({key, file, 2}),
                               bind, WriteIdentities({{key, "deploy"}, {"other", ""}}), "\x0b"};
  static constexpr std::string_view kWords[] = {std::string_view("\0\0\0\0", 4),
                                                std::string_view("\0\0\0\3key", 7),
                                                "\xff\xff\xff\xff",
                                                "SSHSIG",
                                                "publickey",
                                                "\x32",
                                                "\x01"};
  std::string bytes = Framed(random.Pick(seeds));
  if (!random.OneIn(8)) bytes = Mutate(random, std::move(bytes), kWords);
  std::string_view message;
  size_t used = 0;
  if (TakeMessage(bytes, kMostRequest, message, used) != Framing::kDone) return false;
  Require(used <= bytes.size() && !message.empty(), "a message lies in its bytes");
  Require(TakeMessage(std::string_view(bytes).substr(0, used - 1), kMostRequest, message, used) ==
              Framing::kMore,
          "without its last byte a message is not whole");
  (void)TakeMessage(bytes, kMostRequest, message, used);
  if (const auto identities = ParseIdentities(message)) {
    Require(WriteIdentities(*identities) == message, "identities have one encoding");
    return true;
  }
  if (const auto bound = ParseSessionBind(message)) {
    Require(!bound->session.empty() && !bound->host_key.empty(), "a bound session is one");
    return true;
  }
  const auto request = ParseSignRequest(message);
  if (!request) return false;
  Require(WriteSignRequest(*request) == message, "a request has one encoding");
  const Grant grant = {.name = "deploy", .fingerprint = FingerprintOf(key), .comment = "deploy"};
  const Verdict verdict = Judge(*request, {grant}, {});
  if (!verdict.refusal.empty()) return false;
  Require(request->key == key, "only the granted key signs");
  Require(verdict.use == "ssh" || verdict.name_space == "git", "and only logins and commits");
  Require(request->data.starts_with("SSHSIG") == (verdict.use == "git"), "each is what it says");
  Require(!Judge(*request, {}, {}).refusal.empty(), "without a grant nothing is signed");
  return true;
}

}  // namespace cloche::fuzz
