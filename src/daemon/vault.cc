#include "daemon/vault.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "base/text.h"
#include "change/model/base64.h"
#include "egress/secret_limits.h"
#include "sys/fd.h"
#include "sys/file.h"

namespace cloche::daemon {
namespace {

using egress::kLongestValue;
using nlohmann::json;

constexpr const char* kFormat = "vault 1";
constexpr const char* kValues = "vault.json";
constexpr const char* kKey = "vault.key";
constexpr const char* kCounts = "vault-uses.json";
constexpr size_t kNonce = 12, kTag = 16;
constexpr size_t kMostFile = 16 << 20;
constexpr size_t kShortestValue = 8;
constexpr size_t kMostOfOwner = 256;
constexpr size_t kMostRetired = egress::kMostRedacted - kMostOfOwner;  // then new ones are refused
constexpr size_t kRandomPart = 20;
constexpr const char* kCure =
    "put back the file and its key as they were, or move vault.json and vault.key away and set the "
    "secrets anew";

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string Random(size_t size) {
  std::string bytes(size, '\0');
  sys::RandomBytes(reinterpret_cast<unsigned char*>(bytes.data()), size);
  return bytes;
}

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* Bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};

// AES-256-GCM. The tag follows the ciphertext.
bool Encrypt(const unsigned char* key, std::string_view nonce, std::string_view bound,
             std::string_view plain, std::string& out) {
  const std::unique_ptr<EVP_CIPHER_CTX, FreeContext> context(EVP_CIPHER_CTX_new());
  out.assign(plain.size() + kTag, '\0');
  int size = 0;
  return context &&
         EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key, Bytes(nonce)) &&
         EVP_EncryptUpdate(context.get(), nullptr, &size, Bytes(bound),
                           static_cast<int>(bound.size())) &&
         EVP_EncryptUpdate(context.get(), Bytes(out), &size, Bytes(plain),
                           static_cast<int>(plain.size())) &&
         EVP_EncryptFinal_ex(context.get(), Bytes(out) + plain.size(), &size) &&
         EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTag, Bytes(out) + plain.size());
}

bool Decrypt(const unsigned char* key, std::string_view nonce, std::string_view bound,
             std::string sealed, std::string& plain) {
  if (nonce.size() != kNonce || sealed.size() < kTag) return false;
  const std::unique_ptr<EVP_CIPHER_CTX, FreeContext> context(EVP_CIPHER_CTX_new());
  const size_t length = sealed.size() - kTag;
  plain.assign(length, '\0');
  int size = 0;
  const bool fine =
      context && EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key, Bytes(nonce)) &&
      EVP_DecryptUpdate(context.get(), nullptr, &size, Bytes(bound),
                        static_cast<int>(bound.size())) &&
      EVP_DecryptUpdate(context.get(), Bytes(plain), &size, Bytes(sealed),
                        static_cast<int>(length)) &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTag, Bytes(sealed) + length) &&
      EVP_DecryptFinal_ex(context.get(), Bytes(plain) + length, &size);
  if (!fine) Wipe(plain);
  return fine;
}

// The data bound to a value: everything that says where it may go.
json Known(const SecretInfo& info) {
  json known = {{"owner", info.owner}, {"name", info.name},       {"id", info.id},
                {"hosts", info.hosts}, {"where", info.where},     {"variable", info.variable},
                {"like", info.like},   {"created", info.created}, {"rotated", info.rotated}};
  if (info.retired != 0) known["retired"] = info.retired;
  return known;
}

SecretInfo FromKnown(const json& known) {
  SecretInfo info;
  known.at("owner").get_to(info.owner);
  known.at("name").get_to(info.name);
  known.at("id").get_to(info.id);
  known.at("hosts").get_to(info.hosts);
  known.at("where").get_to(info.where);
  known.at("variable").get_to(info.variable);
  known.at("like").get_to(info.like);
  known.at("created").get_to(info.created);
  known.at("rotated").get_to(info.rotated);
  info.retired = known.value("retired", int64_t{0});
  return info;
}

std::unexpected<Error> Unreadable(const std::string& path, std::string_view why) {
  return Fail(Code::kUnavailable, fmt::format("open vault {}: {}", path, why), kCure);
}

std::unexpected<Error> Errno(const char* what, const std::string& path) {
  return Fail(Code::kUnavailable, fmt::format("{} {}: {}", what, path, strerror(errno)),
              "check its owner and its disk");
}

// Leaves the old or the new content, whatever happens.
Status Replace(const std::string& directory, const std::string& path, std::string_view content,
               bool durable = true) {
  const std::string draft = path + ".new";
  const sys::Fd file(
      open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return Errno("write", draft);
  bool written = true;
  for (size_t at = 0; at < content.size() && written;) {
    const ssize_t wrote = write(file.get(), content.data() + at, content.size() - at);
    if (wrote > 0) at += static_cast<size_t>(wrote);
    written = wrote > 0 || (wrote < 0 && errno == EINTR);
  }
  if (!written || (durable && fsync(file.get()) < 0) || rename(draft.c_str(), path.c_str()) < 0) {
    const auto failed = Errno("write", path);
    unlink(draft.c_str());
    return failed;
  }
  const sys::Fd parent(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (durable && (!parent.valid() || fsync(parent.get()) < 0)) return Errno("write", directory);
  return {};
}

bool Exists(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 || errno != ENOENT;
}

}  // namespace

json ToJson(const SecretInfo& info) {
  json out = {{"name", info.name},         {"hosts", info.hosts},     {"where", info.where},
              {"variable", info.variable}, {"created", info.created}, {"uses", info.uses}};
  out["rotated"] = info.rotated == 0 ? json() : json(info.rotated);
  out["last_used"] = info.last_used == 0 ? json() : json(info.last_used);
  return out;
}

Status CheckSecretValue(std::string_view value) {
  if (value.size() < kShortestValue)
    return Fail(Code::kInvalid,
                fmt::format("set secret: a value of fewer than {} characters could not be redacted",
                            kShortestValue),
                "give the whole value on standard input");
  if (value.size() > kLongestValue)
    return Fail(Code::kInvalid,
                fmt::format("set secret: the value is longer than {}", FormatBytes(kLongestValue)),
                "a token or a password is meant, not a file");
  if (std::ranges::any_of(value, [](char c) { return c < ' ' || c > '~'; }))
    return Fail(
        Code::kInvalid,
        "set secret: the value has line breaks, control characters or letters beyond ASCII in it",
        "in a header it would be another header; give one line of ASCII");
  if (value.front() == ' ' || value.back() == ' ')
    return Fail(Code::kInvalid, "set secret: the value begins or ends with a blank",
                "headers cannot carry it; leave the blank out");
  return {};
}

std::string NewPlaceholder(const std::string& like, size_t length) {
  static constexpr std::string_view kAlphabet =
      "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
  std::string text = like + "cloche";
  length = std::max(std::min<size_t>(length, 200), text.size() + kRandomPart);
  for (const char c : Random(length - text.size()))
    text += kAlphabet[static_cast<unsigned char>(c) % kAlphabet.size()];
  return text;
}

Vault::Vault(std::string directory) : directory_(std::move(directory)) {}

Vault::~Vault() { OPENSSL_cleanse(key_.data(), key_.size()); }

Status Vault::Open() {
  if (!read_) {
    read_ = true;
    state_ = Read();
    if (!state_) records_.clear();
    if (state_) ReadCounts();
  }
  return state_;
}

Status Vault::ReadKey() {
  const std::string path = File(kKey);
  const sys::Fd file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return Unreadable(path, errno == ENOENT ? "the key is gone" : strerror(errno));
  struct stat info;
  if (fstat(file.get(), &info) < 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
      (info.st_mode & 077) != 0)
    return Fail(Code::kUnavailable,
                fmt::format("open vault {}: others may read it, or it belongs to another", path),
                "chmod 600 " + path + ", and rotate what was in the vault");
  std::string bytes;
  const int got = sys::ReadAll(file.get(), bytes, key_.size() + 1);
  const bool whole = got >= 0 && bytes.size() == key_.size();
  if (whole) std::copy(bytes.begin(), bytes.end(), key_.begin());
  Wipe(bytes);
  if (!whole) return Unreadable(path, "this is not a key");
  has_key_ = true;
  return {};
}

Status Vault::MakeKey() {
  std::string key = Random(key_.size());
  const Status kept = Replace(directory_, File(kKey), key);
  if (kept) std::copy(key.begin(), key.end(), key_.begin());
  Wipe(key);
  has_key_ = kept.has_value();
  return kept;
}

Status Vault::Read() {
  const std::string path = File(kValues);
  if (!Exists(path)) return Exists(File(kKey)) ? ReadKey() : Status{};
  CLOCHE_TRY(ReadKey());
  std::string text;
  if (const int error = sys::ReadFileAt(AT_FDCWD, path.c_str(), text, kMostFile); error < 0)
    return Unreadable(path, strerror(-error));
  const char* damaged = "it is damaged, was changed by somebody else, or the key is another";
  try {
    const json file = json::parse(text);
    if (file.at("cloche") != kFormat) return Unreadable(path, "another version of cloche wrote it");
    const auto nonce = change::FromBase64(file.at("nonce").get<std::string>());
    const auto seal = change::FromBase64(file.at("seal").get<std::string>());
    std::string nothing;
    if (file.size() != 4 || !nonce || !seal || seal->size() != kTag ||
        !Decrypt(key_.data(), *nonce, file.at("records").dump(), *seal, nothing))
      return Unreadable(path, damaged);
    for (const json& each : file.at("records")) {
      const auto value_nonce = change::FromBase64(each.at("nonce").get<std::string>());
      const auto sealed = change::FromBase64(each.at("sealed").get<std::string>());
      if (!value_nonce || !sealed) return Unreadable(path, damaged);
      records_.push_back({FromKnown(each.at("known")), *value_nonce, *sealed});
      std::string value;
      const bool whole = Unseal(records_.back(), value);
      Wipe(value);
      if (!whole) return Unreadable(path, damaged);
    }
  } catch (const json::exception&) {
    return Unreadable(path, damaged);
  }
  return {};
}

Status Vault::Write(const std::vector<Record>& records) const {
  json list = json::array();
  for (const Record& each : records)
    list.push_back({{"known", Known(each.info)},
                    {"nonce", change::ToBase64(each.nonce)},
                    {"sealed", change::ToBase64(each.sealed)}});
  const std::string nonce = Random(kNonce);
  std::string seal;
  if (!Encrypt(key_.data(), nonce, list.dump(), "", seal))
    return Fail(Code::kInternal, "write vault: AES-256-GCM failed");
  const json file = {{"cloche", kFormat},
                     {"records", list},
                     {"nonce", change::ToBase64(nonce)},
                     {"seal", change::ToBase64(seal)}};
  const std::string text = file.dump(1) + "\n";
  if (text.size() > kMostFile)  // it must stay readable
    return Fail(Code::kExhausted, "write vault: it is full",
                "remove secrets that are not needed: cloche secret ls");
  return Replace(directory_, File(kValues), text);
}

size_t Vault::Record::bytes() const { return sealed.size() - kTag; }

Result<Vault::Record> Vault::Seal(SecretInfo info, std::string_view value) const {
  Record record{std::move(info), Random(kNonce), ""};
  if (!Encrypt(key_.data(), record.nonce, Known(record.info).dump(), value, record.sealed))
    return Fail(Code::kInternal, "seal secret: AES-256-GCM failed");
  return record;
}

bool Vault::Unseal(const Record& record, std::string& value) const {
  return Decrypt(key_.data(), record.nonce, Known(record.info).dump(), record.sealed, value);
}

Status Vault::Retire(std::vector<Record>& records, const Record& old) const {
  std::string value;
  if (!Unseal(old, value)) return Fail(Code::kUnavailable, "open secret: it cannot be read", kCure);
  SecretInfo info = old.info;
  info.retired = Now();
  auto record = Seal(std::move(info), value);
  Wipe(value);
  if (!record) return std::unexpected(record.error());
  records.push_back(std::move(*record));
  return {};
}

Vault::Record* Vault::FindRecord(uint32_t owner, const std::string& name) {
  const auto found = std::ranges::find_if(records_, [&](const Record& each) {
    return each.info.owner == owner && each.info.name == name && each.info.retired == 0;
  });
  return found == records_.end() ? nullptr : &*found;
}

const Vault::Record* Vault::FindRecord(uint32_t owner, const std::string& name) const {
  return const_cast<Vault*>(this)->FindRecord(owner, name);
}

Result<SecretInfo> Vault::Set(SecretInfo info, std::string_view value, bool still_redacted) {
  CLOCHE_TRY(Open());
  CLOCHE_TRY(CheckSecretValue(value));
  if (!has_key_) CLOCHE_TRY(MakeKey());
  std::vector<Record> records = records_;
  const Record* before = FindRecord(info.owner, info.name);
  std::string held;
  const bool same = before && Unseal(*before, held) && held == value;
  Wipe(held);
  const auto retired = std::ranges::count_if(records, [&](const Record& each) {
    return each.info.owner == info.owner && each.info.retired != 0;
  });
  const bool retires = before && still_redacted && !same;
  if ((!before || retires) && static_cast<size_t>(retired) >= kMostRetired)
    return Fail(Code::kExhausted,
                fmt::format("set secret: {} values that were replaced or removed are kept already, "
                            "for sandboxes that have had them",
                            retired),
                "remove such sandboxes: cloche ls, cloche rm NAME");
  if (retires) CLOCHE_TRY(Retire(records, *before));
  const auto old = std::ranges::find_if(records, [&](const Record& each) {
    return each.info.owner == info.owner && each.info.name == info.name && each.info.retired == 0;
  });
  info.created = Now();
  info.id = change::ToBase64(Random(9));
  if (old != records.end()) {
    info.id = old->info.id;
    info.created = old->info.created;
    info.rotated = Now();
    info.uses = old->info.uses;
    info.last_used = old->info.last_used;
  } else if (List(info.owner).size() >= kMostOfOwner) {
    return Fail(Code::kExhausted, fmt::format("set secret: {} are enough", kMostOfOwner),
                "remove some: cloche secret rm NAME");
  }
  ASSIGN_OR_RETURN(Record record, Seal(std::move(info), value));
  SecretInfo known = record.info;
  if (old != records.end())
    *old = std::move(record);
  else
    records.push_back(std::move(record));
  CLOCHE_TRY(Write(records));
  records_ = std::move(records);
  return known;
}

Status Vault::Remove(uint32_t owner, const std::string& name, bool still_redacted) {
  CLOCHE_TRY(Find(owner, name));
  std::vector<Record> records = records_;
  if (still_redacted) CLOCHE_TRY(Retire(records, *FindRecord(owner, name)));
  std::erase_if(records, [&](const Record& each) {
    return each.info.owner == owner && each.info.name == name && each.info.retired == 0;
  });
  CLOCHE_TRY(Write(records));
  records_ = std::move(records);
  counted_ = true;
  return {};
}

Result<SecretInfo> Vault::Find(uint32_t owner, const std::string& name) const {
  CLOCHE_TRY(const_cast<Vault*>(this)->Open());
  if (const Record* record = FindRecord(owner, name)) return record->info;
  return Fail(
      Code::kNotFound, fmt::format("find secret: no secret is called {}", EscapeForTerminal(name)),
      "cloche secret ls shows the ones there are; cloche secret set NAME --host HOST adds one");
}

std::vector<SecretInfo> Vault::List(uint32_t owner) const {
  std::vector<SecretInfo> list;
  for (const Record& each : records_)
    if (each.info.owner == owner && each.info.retired == 0) list.push_back(each.info);
  std::ranges::sort(list, {}, &SecretInfo::name);
  return list;
}

Result<std::string> Vault::Value(const SecretInfo& info) const {
  const Record* record = FindRecord(info.owner, info.name);
  std::string value;
  if (!record || !Unseal(*record, value))
    return Fail(Code::kUnavailable, "open secret: it cannot be read", kCure);
  return value;
}

std::vector<std::string> Vault::Values(uint32_t owner, const std::string& id) const {
  std::vector<std::string> values;
  if (!const_cast<Vault*>(this)->Open()) return values;
  for (const Record& each : records_) {
    if (each.info.owner != owner || each.info.id != id) continue;
    std::string value;
    if (Unseal(each, value)) values.push_back(std::move(value));
  }
  return values;
}

size_t Vault::ValueBytes(uint32_t owner, const std::string& id) const {
  size_t bytes = 0;
  for (const Record& each : records_)
    if (each.info.owner == owner && each.info.id == id) bytes += each.bytes();
  return bytes;
}

Status Vault::CheckRedacted(const std::string& what, uint32_t owner,
                            const std::set<std::string>& ids, size_t more,
                            const std::string& cure) const {
  for (const std::string& id : ids) more += ValueBytes(owner, id);
  if (more <= egress::kMostRedactedBytes) return {};
  return Fail(
      Code::kExhausted,
      fmt::format("{}: there would be {} bytes of values to redact, more than the {} of one "
                  "sandbox",
                  what, more, egress::kMostRedactedBytes),
      cure);
}

Status Vault::KeepOldOf(const std::set<std::string>& ids) {
  if (!read_ || !state_) return {};  // not opened yet
  const auto gone = [&](const Record& each) {
    return each.info.retired != 0 && !ids.contains(each.info.id);
  };
  if (std::ranges::none_of(records_, gone)) return {};
  std::vector<Record> records = records_;
  std::erase_if(records, gone);
  CLOCHE_TRY(Write(records));
  records_ = std::move(records);
  return {};
}

void Vault::CountUses(uint32_t owner, const std::string& name, uint64_t uses, int64_t now) {
  Record* record = FindRecord(owner, name);
  if (!record) return;
  record->info.uses += uses;
  record->info.last_used = std::max(record->info.last_used, now);
  counted_ = true;
}

// Counts are worthless to an attacker, and a sync per use would be expensive: they have their own
// file, and unreadable counts are zero.
void Vault::KeepCounts() {
  if (!std::exchange(counted_, false) || !state_) return;
  json counts = json::object();
  for (const Record& each : records_)
    if (each.info.uses != 0 && each.info.retired == 0)
      counts[each.info.id] = {each.info.uses, each.info.last_used};
  (void)Replace(directory_, File(kCounts), counts.dump(), false);
}

void Vault::ReadCounts() {
  std::string text;
  if (sys::ReadFileAt(AT_FDCWD, File(kCounts).c_str(), text, kMostFile) < 0) return;
  const json counts = json::parse(text, nullptr, false);
  if (!counts.is_object()) return;
  for (Record& each : records_) {
    const auto found = counts.find(each.info.id);
    if (found == counts.end() || !found->is_array() || found->size() != 2 ||
        !(*found)[0].is_number_unsigned() || !(*found)[1].is_number_integer())
      continue;
    each.info.uses = (*found)[0].get<uint64_t>();
    each.info.last_used = (*found)[1].get<int64_t>();
  }
}

}  // namespace cloche::daemon
