#include "egress/h2_relay.h"

#include <fmt/core.h>

#include <list>
#include <map>
#include <memory>
#include <optional>

#include "base/text.h"
#include "egress/h2_message.h"
#include "egress/h2_pipe.h"
#include "egress/h2_session.h"
#include "egress/http_request.h"
#include "egress/refuse.h"

namespace cloche::egress {
namespace {

constexpr uint64_t kRefusalsASecond = 100;
constexpr const char* kBadTrailer =
    "HTTP/2: the trailer has something in it that belongs in a head";

// One request and its answer: a stream of the program, and one to the server.
struct Exchange {
  int32_t theirs = 0;   // the program's stream
  int32_t ours = 0;     // to the server; 0: not yet
  RequestHead request;  // as the server shall see it
  std::list<Connection::Asked>::iterator asked;
  bool counted = false;  // `asked` is one
  std::vector<SecretInUse> secrets;
  int interim = 0;
  std::shared_ptr<const Needles> needles;  // none: the answer passes as it is
  std::optional<Redactor> redactor;        // of its body
  bool redacted = false;                   // something in a head of it
  bool collects = false;                   // the body is read as a whole before it is sent on
  std::string body;
  std::optional<CanaryScanner> looks;  // at what goes up
  size_t held = 0;                     // for it, heads and the redactor, until the exchange is over
  H2Pipe up, down;
  bool begun = false;     // the answer is on its way
  bool own = false;       // and it is ours
  bool end_sent = false;  // as a whole
  bool over = false;      // the server has nothing more to do with it

  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() {
    for (SecretInUse& each : secrets) Wipe(each.value);
    Wipe(body);
  }
  bool Lives() const { return ours != 0 && !over; }  // at the server
};

class H2Relay final : public H2Session::Owner {
 public:
  H2Relay(Connection& connection, std::optional<Refusal> unreachable)
      : connection_(connection),
        unreachable_(std::move(unreachable)),
        client_(connection, connection.client, *this, true),
        client_wrote_(connection.services.loop),
        server_read_(connection.services.loop),
        server_wrote_(connection.services.loop) {
    if (connection.upstream != nullptr)
      server_.emplace(connection, *connection.upstream, *this, false);
  }
  ~H2Relay() {
    while (!exchanges_.empty()) Forget(exchanges_.begin()->second);
  }

  Task<void> Run() {
    Start(WriteTo(client_, client_wrote_));
    if (server_) {
      Start(WriteTo(*server_, server_wrote_));
      Start(ReadServer());
    }
    const std::string why = co_await client_.Read();
    if (!why.empty() && connection_.record.reason.empty()) connection_.record.reason = why;
    client_.End();
    co_await client_wrote_;
    if (!server_) co_return;
    server_->Finish();
    server_->End();
    co_await server_wrote_;
    connection_.upstream->Cut();
    co_await server_read_;
  }

  void OnHead(H2Session& session, int32_t stream, const H2Head& head, bool last) override {
    const bool up = &session == &client_;
    if (!connection_.Count(up, head.size)) return;
    if (up && SaysDecoy(head)) return;
    Exchange* exchange = Find(session, stream);
    if (!up) {
      if (exchange != nullptr) OnAnswer(*exchange, head, last);
    } else if (exchange == nullptr) {
      Begin(stream, head, last);
    } else if (!exchange->own && (!head.fits || !CheckH2RequestTrailers(head.fields))) {
      TellRefusal(connection_, kBadTrailer, "");
      Refuse(*exchange, {400, kBadTrailer});
    } else if (Hold(*exchange, head.size)) {
      exchange->up.trailers = head.fields;
    }
  }

  void OnData(H2Session& session, int32_t stream, std::string_view bytes) override {
    const bool up = &session == &client_;
    Exchange* exchange = Find(session, stream);
    const bool wanted = exchange != nullptr && !(up && (exchange->own || exchange->over));
    const bool betrayed = up && exchange != nullptr && SaysDecoy(*exchange, bytes);
    if (betrayed || !connection_.Count(up, bytes.size()) || !wanted) {
      session.Consume(stream, bytes.size());
      return;
    }
    if (!connection_.sandbox->Hold(bytes.size())) {
      session.Consume(stream, bytes.size());
      client_.Reset(exchange->theirs, kH2EnhanceYourCalm);
      return;
    }
    if (up && exchange->collects) {
      session.Consume(stream, bytes.size());
      exchange->held += bytes.size();
      exchange->body += bytes;
      if (exchange->body.size() > kMostJson) Refuse(*exchange, {413, kJsonTooLong});
    } else if (up) {
      exchange->up.Put(bytes, bytes.size());
      server_->Resume(exchange->ours);
    } else {
      exchange->down.Put(exchange->redactor ? exchange->redactor->Feed(bytes) : std::string(bytes),
                         bytes.size());
      client_.Resume(exchange->theirs);
    }
  }

  void OnEnd(H2Session& session, int32_t stream) override {
    Exchange* exchange = Find(session, stream);
    if (exchange == nullptr) return;
    if (&session == &client_) {
      exchange->up.ended = true;
      if (exchange->collects && !exchange->own) SendCollected(*exchange);
      if (exchange->Lives()) server_->Resume(exchange->ours);
    } else {
      if (exchange->redactor) exchange->down.Put(exchange->redactor->End(), 0);
      exchange->down.ended = true;
      client_.Resume(exchange->theirs);
    }
  }

  void OnEndSent(H2Session& session, int32_t stream) override {
    Exchange* exchange = Find(session, stream);
    if (exchange == nullptr || &session != &client_) return;
    exchange->end_sent = true;
    StopUpload(*exchange);
  }

  void OnClosed(H2Session& session, int32_t stream, uint32_t code) override {
    Exchange* exchange = Find(session, stream);
    if (exchange == nullptr) return;
    if (&session == &client_) {
      if (exchange->Lives()) server_->Reset(exchange->ours, kH2Cancel);
      Forget(*exchange);
      if (leaving_ && exchanges_.empty()) client_.Finish();
      return;
    }
    LetGo(*exchange);
    if (exchange->down.ended) {
      StopUpload(*exchange);
    } else {
      // Never a silent end: the answer is incomplete.
      client_.Reset(exchange->theirs, code == kH2NoError ? kH2InternalError : code);
    }
  }

  void OnRefused(H2Session& session, const std::string& why) override {
    if (&session != &client_) return;
    TellRefusal(connection_, why, "");
    CountRefusal();
  }

  void OnGoAway(H2Session& session) override {
    if (&session != &client_) Leave();
  }

  H2Session::Taken Take(H2Session& session, int32_t stream, char* data, size_t size) override {
    Exchange* exchange = Find(session, stream);
    if (exchange == nullptr) return {.broken = true};
    const bool up = &session != &client_;
    H2Pipe& pipe = up ? exchange->up : exchange->down;
    size_t paid = 0;
    const size_t part = pipe.Take(data, size, paid);
    Pay(*exchange, up, paid);
    const bool drained = pipe.left() == 0;
    return {.size = part,
            .wait = part == 0 && !pipe.ended,
            .last = drained && pipe.ended,
            .trailers = pipe.trailers.empty() ? nullptr : &pipe.trailers};
  }

  void OnMoved() override {
    client_.Ring();
    if (server_) server_->Ring();
  }

 private:
  Task<void> WriteTo(H2Session& session, Signal& done) {
    co_await session.Write();
    done.Set();
  }

  Task<void> ReadServer() {
    std::string why = co_await server_->Read();
    if (why.empty()) why = "it closed the connection";
    unreachable_ = Refusal{502, connection_.target.Text() + ": " + why};
    // The server is gone, so open exchanges can only end here.
    for (auto& [stream, exchange] : exchanges_) {
      if (!exchange.Lives()) continue;
      LetGo(exchange);
      if (exchange.down.ended) {
        StopUpload(exchange);
      } else if (exchange.begun) {
        client_.Reset(exchange.theirs, kH2InternalError);
        if (connection_.record.reason.empty()) connection_.record.reason = "the answer broke off";
      } else {
        Refuse(exchange, *unreachable_);
      }
    }
    Leave();
    OnMoved();
    server_->End();
    server_read_.Set();
  }

  // Heads are compressed and bodies come in frames, so the bytes of the connection show neither.
  bool SaysDecoy(const H2Head& head) {
    if (connection_.watch == nullptr) return false;
    for (const Header& field : head.fields) {
      CanaryScanner message = connection_.watch->NewMessage();
      if (connection_.watch->See(message, field.name + ": " + field.value)) break;
    }
    return connection_.Betrayed();
  }
  bool SaysDecoy(Exchange& exchange, std::string_view bytes) {
    if (connection_.watch == nullptr) return false;
    if (!exchange.looks) {
      exchange.looks.emplace(connection_.watch->NewMessage());
      if (exchange.request.Lists("Content-Encoding", "deflate")) exchange.looks->ExpectRawDeflate();
    }
    (void)connection_.watch->See(*exchange.looks, bytes);
    return connection_.Betrayed();
  }

  Exchange* Find(const H2Session& session, int32_t stream) {
    if (&session == &client_) {
      const auto found = exchanges_.find(stream);
      return found == exchanges_.end() ? nullptr : &found->second;
    }
    const auto found = by_ours_.find(stream);
    return found == by_ours_.end() ? nullptr : found->second;
  }

  void Begin(int32_t stream, const H2Head& head, bool last) {
    Exchange& exchange = exchanges_[stream];
    exchange.theirs = stream;
    exchange.up.ended = last;
    if (!Hold(exchange, head.size)) return;
    Result<RequestHead> request =
        head.fits ? RequestFromH2(head.fields)
                  : Result<RequestHead>(Fail(Code::kInvalid, "HTTP/2: the head is too long"));
    if (!request) {
      TellRefusal(connection_, request.error().message, "");
      CountRefusal();
      return Refuse(exchange, {400, request.error().message});
    }
    const std::string reason = connection_.record.reason;
    auto judged = JudgeRequest(connection_, Kind::kHttps, *request);
    if (!judged) {
      // The limit was this request's; the connection stays open.
      if (judged.error().status == 429) connection_.record.reason = reason;
      CountRefusal();
      return Refuse(exchange, judged.error());
    }
    exchange.request = std::move(*request);
    exchange.asked = connection_.asked.insert(connection_.asked.end(), std::move(judged->asked));
    exchange.counted = true;
    exchange.secrets = std::move(judged->secrets);
    exchange.needles = std::move(judged->needles);
    if (exchange.needles) {
      if (!Hold(exchange, exchange.needles->most_held())) return;
      exchange.redactor.emplace(exchange.needles);
    }
    if (unreachable_) {
      Refuse(exchange, *unreachable_);
      return Leave();  // the next connection may find it
    }
    if (!last && HasJsonSecrets(exchange.request, exchange.secrets)) {
      exchange.collects = true;
      if (exchange.request.Find("Expect") != nullptr) client_.Inform(stream, {{":status", "100"}});
      return;
    }
    Send(exchange);
  }

  void SendCollected(Exchange& exchange) {
    std::string body = std::exchange(exchange.body, {});
    if (!PutSecretsInJson(body, exchange.secrets)) return Refuse(exchange, {413, kJsonTooLong});
    if (!Hold(exchange, body.size())) return;
    for (const char* name : {"Expect", "Trailer", "Content-Length"}) exchange.request.Remove(name);
    exchange.request.headers.push_back({"Content-Length", std::to_string(body.size())});
    exchange.up.trailers.clear();
    exchange.up.Put(body, 0);
    Wipe(body);
    Send(exchange);
  }

  void Send(Exchange& exchange) {
    if (unreachable_) return Refuse(exchange, *unreachable_);
    const bool body = !exchange.up.ended || exchange.up.left() > 0;
    exchange.ours = server_->Request(H2FieldsOf(exchange.request), body, !exchange.secrets.empty());
    if (exchange.ours <= 0) {
      exchange.ours = 0;
      client_.Reset(exchange.theirs, kH2RefusedStream);
      return Leave();
    }
    CountUses(connection_, exchange.secrets);
    by_ours_[exchange.ours] = &exchange;
  }

  void OnAnswer(Exchange& exchange, const H2Head& head, bool last) {
    if (!Hold(exchange, head.size)) return;
    if (exchange.begun) {
      if (!head.fits || !CheckH2Trailers(head.fields))
        return Break(exchange, "its trailer is none");
      exchange.down.trailers = Redacted(exchange, head.fields);
      return;
    }
    const auto answer = head.fits
                            ? ResponseFromH2(head.fields, exchange.request.method)
                            : Result<ResponseHead>(Fail(Code::kInvalid, "its head is too long"));
    if (!answer) return Break(exchange, answer.error().message);
    if (const char* hidden = WhyNotRedacted(*answer); exchange.needles && *hidden != '\0')
      return Break(exchange, hidden);
    if (answer->status < 200 && ++exchange.interim > kMostInterim)
      return Break(exchange, kTooManyInterim);
    const H2Fields fields = Redacted(exchange, H2FieldsOf(*answer));
    if (answer->status < 200) return client_.Inform(exchange.theirs, fields);
    exchange.begun = true;
    client_.Answer(exchange.theirs, fields, !last);
  }

  static H2Fields Redacted(Exchange& exchange, H2Fields fields) {
    if (!exchange.needles) return fields;
    for (Header& field : fields) {
      field.name = Redactor::All(exchange.needles, field.name, exchange.redacted);
      field.value = Redactor::All(exchange.needles, field.value, exchange.redacted);
    }
    return fields;
  }

  // The server breaks the protocol.
  void Break(Exchange& exchange, const std::string& why) {
    server_->Reset(exchange.ours, kH2ProtocolError);
    LetGo(exchange);
    if (exchange.begun) return client_.Reset(exchange.theirs, kH2InternalError);
    Refuse(exchange, {502, connection_.target.Text() + ": " + why});
  }

  // An answer of our own, which a person can read.
  void Refuse(Exchange& exchange, const Refusal& refusal) {
    if (exchange.Lives()) {
      server_->Reset(exchange.ours, kH2Cancel);
      LetGo(exchange);
    }
    exchange.own = true;
    Pay(exchange, true, exchange.up.Drop());
    exchange.body = {};
    if (exchange.begun) return client_.Reset(exchange.theirs, kH2ProtocolError);
    exchange.begun = true;
    const std::string text = RefusalText(refusal.status, refusal.reason);
    exchange.down.Put(text, 0);
    exchange.down.ended = true;
    const H2Fields fields{{":status", std::to_string(refusal.status)},
                          {"content-type", "text/plain; charset=utf-8"},
                          {"content-length", std::to_string(text.size())},
                          {"via", "cloche-egress"}};
    client_.Answer(exchange.theirs, fields, exchange.request.method != "HEAD");
  }

  // The program has its answer, and nobody reads the rest of its upload.
  void StopUpload(Exchange& exchange) {
    if (exchange.end_sent && !exchange.up.ended && (exchange.own || exchange.over))
      client_.Reset(exchange.theirs, kH2NoError);
  }

  // In HTTP/1.1 a refusal ends the connection, and the next connection is counted; here the refusal
  // must be.
  void CountRefusal() {
    const std::string reason = connection_.record.reason;
    (void)connection_.TakeRequest();
    connection_.record.reason = reason;
    if (!refusals_.Take(kRefusalsASecond, connection_.services.loop.now()))
      client_.BeCalm("HTTP/2: too many requests are refused");
  }

  // Held until the exchange is over. False: there is no room, and it ends.
  bool Hold(Exchange& exchange, size_t bytes) {
    if (connection_.sandbox->Hold(bytes)) {
      exchange.held += bytes;
      return true;
    }
    exchange.own = true;  // nothing more is wanted of it
    client_.Reset(exchange.theirs, kH2EnhanceYourCalm);
    return false;
  }

  // Lets one side send as much again as was taken of it.
  void Pay(Exchange& exchange, bool up, size_t paid) {
    connection_.sandbox->held -= paid;
    if (up) {
      client_.Consume(exchange.theirs, paid);
    } else if (server_) {
      server_->Consume(exchange.ours, paid);
    }
  }

  // The server's stream has ended.
  void LetGo(Exchange& exchange) {
    by_ours_.erase(exchange.ours);
    exchange.over = true;
    Pay(exchange, true, exchange.up.Drop());
  }

  void Forget(Exchange& exchange) {
    if (exchange.redacted || (exchange.redactor && exchange.redactor->found()))
      TellRedacted(connection_, exchange.secrets);
    Pay(exchange, true, exchange.up.Drop());
    Pay(exchange, false, exchange.down.Drop());
    connection_.sandbox->held -= exchange.held;
    if (exchange.counted) connection_.asked.erase(exchange.asked);
    by_ours_.erase(exchange.ours);
    const int32_t stream = exchange.theirs;
    exchanges_.erase(stream);
  }

  // No new requests: the program makes another connection for them.
  void Leave() {
    if (leaving_) return;
    leaving_ = true;
    if (exchanges_.empty()) {
      client_.Finish();
    } else {
      client_.Announce();
    }
  }

  Connection& connection_;
  std::optional<Refusal> unreachable_;
  H2Session client_;
  std::optional<H2Session> server_;
  Signal client_wrote_, server_read_, server_wrote_;
  Bucket refusals_;
  std::map<int32_t, Exchange> exchanges_;
  std::map<int32_t, Exchange*> by_ours_;
  bool leaving_ = false;
};

}  // namespace

Task<void> ServeH2(Connection& connection, std::optional<Refusal> unreachable) {
  connection.record.kind = KindName(Kind::kHttps);
  connection.served = Kind::kHttps;
  H2Relay relay(connection, std::move(unreachable));
  co_await relay.Run();
}

}  // namespace cloche::egress
