#include "sign/agent_message.h"

namespace cloche::sign {
namespace {

constexpr uint8_t kUserauthRequest = 50;
constexpr std::string_view kFileMagic = "SSHSIG";
constexpr size_t kMostIdentities = 2048;

uint32_t Number(std::string_view four) {
  uint32_t value = 0;
  for (const char c : four.substr(0, 4)) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

void AddNumber(std::string& to, uint32_t value) {
  for (const int shift : {24, 16, 8, 0}) to += static_cast<char>(value >> shift & 0xff);
}

// Reads from the front. Reading beyond the end makes it bad, and everything after that empty.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  std::string_view Bytes(size_t size) {
    if (bad_ || left_.size() < size) {
      bad_ = true;
      return {};
    }
    const std::string_view bytes = left_.substr(0, size);
    left_.remove_prefix(size);
    return bytes;
  }
  uint8_t Byte() {
    const std::string_view one = Bytes(1);
    return one.empty() ? 0 : static_cast<uint8_t>(one[0]);
  }
  uint32_t Integer() { return Number(Bytes(4)); }
  std::string_view Text() { return Bytes(Integer()); }
  bool Ended() const { return !bad_ && left_.empty(); }
  bool bad() const { return bad_; }

 private:
  std::string_view left_;
  bool bad_ = false;
};

}  // namespace

Framing TakeMessage(std::string_view bytes, size_t most, std::string_view& message, size_t& used) {
  if (bytes.size() < 4) return Framing::kMore;
  const size_t size = Number(bytes);
  if (size == 0 || size > most) return Framing::kBad;
  if (bytes.size() < 4 + size) return Framing::kMore;
  message = bytes.substr(4, size);
  used = 4 + size;
  return Framing::kDone;
}

std::string Framed(std::string_view message) {
  std::string out;
  AddText(out, message);
  return out;
}

void AddText(std::string& to, std::string_view text) {
  AddNumber(to, static_cast<uint32_t>(text.size()));
  to += text;
}

std::optional<std::vector<Identity>> ParseIdentities(std::string_view message) {
  Reader reader(message);
  if (reader.Byte() != kIdentitiesAnswer) return std::nullopt;
  const uint32_t count = reader.Integer();
  if (count > kMostIdentities) return std::nullopt;
  std::vector<Identity> identities;
  for (uint32_t i = 0; i < count && !reader.bad(); ++i) {
    Identity each;
    each.blob = reader.Text();
    each.comment = reader.Text();
    identities.push_back(std::move(each));
  }
  if (!reader.Ended()) return std::nullopt;
  return identities;
}

std::string WriteIdentities(const std::vector<Identity>& identities) {
  std::string out(1, static_cast<char>(kIdentitiesAnswer));
  AddNumber(out, static_cast<uint32_t>(identities.size()));
  for (const Identity& each : identities) {
    AddText(out, each.blob);
    AddText(out, each.comment);
  }
  return out;
}

std::optional<SignRequest> ParseSignRequest(std::string_view message) {
  Reader reader(message);
  if (reader.Byte() != kSignRequest) return std::nullopt;
  SignRequest request;
  request.key = reader.Text();
  request.data = reader.Text();
  request.flags = reader.Integer();
  if (!reader.Ended() || request.key.empty()) return std::nullopt;
  return request;
}

std::string WriteSignRequest(const SignRequest& request) {
  std::string out(1, static_cast<char>(kSignRequest));
  AddText(out, request.key);
  AddText(out, request.data);
  AddNumber(out, request.flags);
  return out;
}

bool IsSignResponse(std::string_view message) {
  Reader reader(message);
  const bool is_one = reader.Byte() == kSignResponse;
  const std::string_view signature = reader.Text();
  return is_one && reader.Ended() && !signature.empty();
}

std::optional<SessionBind> ParseSessionBind(std::string_view message) {
  Reader reader(message);
  if (reader.Byte() != kExtension || reader.Text() != "session-bind@openssh.com")
    return std::nullopt;
  SessionBind bind;
  bind.host_key = reader.Text();
  bind.session = reader.Text();
  const std::string_view signature = reader.Text();
  const uint8_t forwarding = reader.Byte();
  if (!reader.Ended() || forwarding > 1 || bind.host_key.empty() || bind.session.empty() ||
      signature.empty())
    return std::nullopt;
  bind.forwarding = forwarding == 1;
  return bind;
}

Purpose PurposeOf(std::string_view data, std::string_view key) {
  if (data.starts_with(kFileMagic)) {
    Reader reader(data.substr(kFileMagic.size()));
    Purpose file{.kind = Purpose::Kind::kFile};
    file.name_space = reader.Text();
    (void)reader.Text();  // reserved
    const std::string_view algorithm = reader.Text(), hash = reader.Text();
    const bool known = (algorithm == "sha256" && hash.size() == 32) ||
                       (algorithm == "sha512" && hash.size() == 64);
    return reader.Ended() && known && !file.name_space.empty() ? file : Purpose{};
  }
  Reader reader(data);
  Purpose login{.kind = Purpose::Kind::kLogin};
  login.session = reader.Text();
  const uint8_t type = reader.Byte();
  login.user = reader.Text();
  const std::string_view service = reader.Text(), method = reader.Text();
  const uint8_t has_signature = reader.Byte();
  (void)reader.Text();  // the algorithm
  const std::string_view named = reader.Text();
  if (method == "publickey-hostbound-v00@openssh.com") {
    login.host_key = reader.Text();
    if (login.host_key.empty()) return {};
  } else if (method != "publickey") {
    return {};
  }
  const bool whole = reader.Ended() && type == kUserauthRequest && has_signature == 1 &&
                     service == "ssh-connection" && named == key && !login.session.empty();
  return whole ? login : Purpose{};
}

}  // namespace cloche::sign
