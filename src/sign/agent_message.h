#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::sign {

// The protocol of ssh-agent (draft-ietf-sshm-ssh-agent), as far as it is let through, and the data
// of a login or of a file that is to be signed. Pure. Strict: a message that does not end where it
// should is invalid.

inline constexpr uint8_t kFailure = 5;
inline constexpr uint8_t kSuccess = 6;
inline constexpr uint8_t kRequestIdentities = 11;
inline constexpr uint8_t kIdentitiesAnswer = 12;
inline constexpr uint8_t kSignRequest = 13;
inline constexpr uint8_t kSignResponse = 14;
inline constexpr uint8_t kExtension = 27;

inline constexpr size_t kMostRequest = 32 << 10;  // from inside
inline constexpr size_t kMostAnswer = 256 << 10;  // from the agent, as OpenSSH has it

// A message at the front of `bytes`: its type and content, without the length before it.
enum class Framing { kMore, kDone, kBad };
Framing TakeMessage(std::string_view bytes, size_t most, std::string_view& message, size_t& used);
std::string Framed(std::string_view message);
void AddText(std::string& to, std::string_view text);  // length and bytes

struct Identity {
  std::string blob;
  std::string comment;
  bool operator==(const Identity&) const = default;
};
std::optional<std::vector<Identity>> ParseIdentities(std::string_view message);
std::string WriteIdentities(const std::vector<Identity>& identities);

struct SignRequest {
  std::string_view key;   // its public half
  std::string_view data;  // what is to be signed
  uint32_t flags = 0;
};
std::optional<SignRequest> ParseSignRequest(std::string_view message);
std::string WriteSignRequest(const SignRequest& request);
bool IsSignResponse(std::string_view message);

// session-bind@openssh.com: ssh tells which server it talks to, and the agent checks that.
struct SessionBind {
  std::string_view host_key;
  std::string_view session;
  bool forwarding = false;
};
std::optional<SessionBind> ParseSessionBind(std::string_view message);

// The use that a signature would be good for.
struct Purpose {
  enum class Kind { kUnknown, kLogin, kFile } kind = Kind::kUnknown;
  // of a login
  std::string_view session, user, host_key;  // host_key: signed with it; "" when it is not
  // of a file: "git" for commits and tags
  std::string_view name_space;
};
// `key` is the one that is to sign: a login names it, too.
Purpose PurposeOf(std::string_view data, std::string_view key);

}  // namespace cloche::sign
