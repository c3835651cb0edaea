#include "egress/dns_message.h"

#include <algorithm>

#include "base/ascii.h"
#include "egress/host_name.h"

namespace cloche::egress {
namespace {

constexpr size_t kHead = 12;
constexpr size_t kMostMessage = 65535;
constexpr size_t kMostAddresses = 64;
constexpr int kMostPointers = 32, kMostAliases = 8;
constexpr uint16_t kInternet = 1;

uint16_t Read16(std::string_view bytes, size_t at) {
  return static_cast<uint16_t>(static_cast<uint8_t>(bytes[at]) << 8 |
                               static_cast<uint8_t>(bytes[at + 1]));
}

uint32_t Read32(std::string_view bytes, size_t at) {
  return static_cast<uint32_t>(Read16(bytes, at)) << 16 | Read16(bytes, at + 2);
}

void Put16(std::string& out, size_t value) {
  out += static_cast<char>(value >> 8);
  out += static_cast<char>(value);
}

// Labels joined by dots, byte by byte; `at` is moved behind the name. A label with a dot in it is
// refused: joined it would be two.
bool ReadName(std::string_view message, size_t& at, std::string& name, bool may_point) {
  name.clear();
  size_t from = at;
  bool jumped = false;
  for (int pointers = 0;;) {
    if (from >= message.size()) return false;
    const auto length = static_cast<uint8_t>(message[from]);
    if (length >= 0xc0) {
      if (!may_point || ++pointers > kMostPointers || from + 2 > message.size()) return false;
      const size_t target = Read16(message, from) & 0x3fff;
      if (!jumped) at = from + 2;
      jumped = true;
      if (target >= from) return false;  // only backwards: it ends
      from = target;
      continue;
    }
    if (length >= 0x40) return false;
    ++from;
    if (length == 0) break;
    if (from + length > message.size()) return false;
    const std::string_view label = message.substr(from, length);
    if (label.find('.') != label.npos) return false;
    if (!name.empty()) name += '.';
    name += label;
    if (name.size() > 254) return false;
    from += length;
  }
  if (!jumped) at = from;
  return true;
}

struct Record {
  std::string owner;
  uint16_t type = 0;
  uint32_t ttl = 0;
  std::string alias;
  IpAddress address;
};

bool ReadRecord(std::string_view message, size_t& at, Record& record) {
  if (!ReadName(message, at, record.owner, true) || at + 10 > message.size()) return false;
  record.owner = Lowered(record.owner);
  record.type = Read16(message, at);
  const uint16_t type_class = Read16(message, at + 2);
  record.ttl = Read32(message, at + 4);
  if (record.ttl > 0x7fffffff) record.ttl = 0;
  const size_t length = Read16(message, at + 8);
  at += 10;
  if (at + length > message.size()) return false;
  if (type_class != kInternet) {
    record.type = 0;
  } else if (record.type == kDnsA) {
    if (length != 4) return false;
    record.address = FromBytes4(message.data() + at);
  } else if (record.type == kDnsAaaa) {
    if (length != 16) return false;
    record.address = FromBytes16(message.data() + at);
  } else if (record.type == kDnsCname) {
    size_t inside = at;
    if (!ReadName(message, inside, record.alias, true) || inside != at + length) return false;
    record.alias = Lowered(record.alias);
  }
  at += length;
  return true;
}

}  // namespace

std::optional<DnsQuery> ParseDnsQuery(std::string_view message) {
  if (message.size() < kHead || message.size() > kMostMessage) return std::nullopt;
  DnsQuery query;
  query.id = Read16(message, 0);
  const uint16_t flags = Read16(message, 2);
  if ((flags & 0x8000) != 0) return std::nullopt;  // an answer
  query.recursion = (flags & 0x0100) != 0;
  if ((flags & 0x7800) != 0) {
    query.refuse_with = kDnsNotImplemented;
    return query;
  }
  size_t at = kHead;
  std::string name;
  if (Read16(message, 4) != 1 || Read16(message, 6) != 0 || Read16(message, 8) != 0 ||
      !ReadName(message, at, name, false) || at + 4 > message.size()) {
    query.refuse_with = kDnsFormatError;
    return query;
  }
  query.type = Read16(message, at);
  query.question = message.substr(kHead, at + 4 - kHead);
  query.shown = name;
  if (Read16(message, at + 2) != kInternet) query.refuse_with = kDnsRefused;
  if (const auto normal = NormaliseHost(name); normal && !name.ends_with('.')) query.name = *normal;
  return query;
}

std::string MakeDnsAnswer(const DnsQuery& query, uint8_t rcode,
                          const std::vector<IpAddress>& addresses, uint32_t ttl) {
  std::string out;
  Put16(out, query.id);
  Put16(out, 0x8080u | (query.recursion ? 0x0100u : 0u) | rcode);
  Put16(out, query.question.empty() ? 0 : 1);
  Put16(out, addresses.size());
  Put16(out, 0);
  Put16(out, 0);
  out += query.question;
  for (const IpAddress& address : addresses) {
    const size_t length = address.six ? 16 : 4;
    Put16(out, 0xc000 | kHead);
    Put16(out, address.six ? kDnsAaaa : kDnsA);
    Put16(out, kInternet);
    Put16(out, ttl >> 16);
    Put16(out, ttl & 0xffff);
    Put16(out, length);
    out.append(reinterpret_cast<const char*>(address.bytes.data()), length);
  }
  return out;
}

std::string MakeDnsQuestion(uint16_t id, std::string_view name, uint16_t type) {
  std::string out;
  Put16(out, id);
  Put16(out, 0x0100);
  Put16(out, 1);
  Put16(out, 0);
  Put16(out, 0);
  Put16(out, 1);
  while (!name.empty()) {
    const size_t end = std::min(name.find('.'), name.size());
    out += static_cast<char>(end);
    out += name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  out += '\0';
  Put16(out, type);
  Put16(out, kInternet);
  // EDNS: answers up to 1232 bytes come without a second try over TCP.
  out += '\0';
  Put16(out, 41);
  Put16(out, 1232);
  Put16(out, 0);
  Put16(out, 0);
  Put16(out, 0);
  return out;
}

Result<DnsAnswer> ParseDnsAnswer(std::string_view message, std::string_view question) {
  const auto foreign = [] { return Fail(Code::kInvalid, "dns: not the answer to our question"); };
  const auto bad = [] { return Fail(Code::kInvalid, "dns: the answer is damaged"); };
  if (message.size() < kHead || message.size() > kMostMessage || question.size() < kHead)
    return foreign();
  size_t asked_end = kHead;
  std::string name;
  if (!ReadName(question, asked_end, name, false) || asked_end + 4 > question.size())
    return foreign();
  const size_t asked = asked_end + 4 - kHead;
  const uint16_t flags = Read16(message, 2);
  if (Read16(message, 0) != Read16(question, 0) || (flags & 0xf800) != 0x8000 ||
      Read16(message, 4) != 1 || message.substr(kHead, asked) != question.substr(kHead, asked))
    return foreign();
  const uint16_t type = Read16(question, asked_end);

  DnsAnswer answer;
  answer.rcode = static_cast<uint8_t>(flags & 0xf);
  answer.truncated = (flags & 0x0200) != 0;
  if (answer.rcode != kDnsNoError || answer.truncated) return answer;
  std::vector<Record> records;
  size_t at = kHead + asked;
  for (int left = Read16(message, 6); left > 0; --left) {
    Record record;
    if (records.size() == 256 || !ReadRecord(message, at, record)) return bad();
    records.push_back(std::move(record));
  }
  answer.ttl = 0x7fffffff;
  std::string owner = Lowered(name);
  for (int aliases = 0;; ++aliases) {
    const auto alias = std::find_if(records.begin(), records.end(), [&](const Record& record) {
      return record.type == kDnsCname && record.owner == owner;
    });
    if (alias == records.end()) break;
    if (aliases == kMostAliases) return Fail(Code::kInvalid, "dns: too many aliases");
    answer.ttl = std::min(answer.ttl, alias->ttl);
    owner = alias->alias;
  }
  for (const Record& record : records) {
    if (record.type != type || record.owner != owner || answer.addresses.size() == kMostAddresses)
      continue;
    answer.addresses.push_back(record.address);
    answer.ttl = std::min(answer.ttl, record.ttl);
  }
  if (answer.addresses.empty()) answer.ttl = 0;
  return answer;
}

}  // namespace cloche::egress
