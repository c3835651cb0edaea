#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "egress/channel.h"
#include "egress/connection.h"
#include "egress/h2_message.h"
#include "egress/loop.h"
#include "egress/task.h"
#include "egress/usage.h"

struct nghttp2_session;

namespace cloche::egress {

// Codes of RST_STREAM that we send ourselves.
inline constexpr uint32_t kH2NoError = 0, kH2ProtocolError = 1, kH2InternalError = 2,
                          kH2RefusedStream = 7, kH2Cancel = 8, kH2EnhanceYourCalm = 11;

// The most bytes that a stream, and all streams of a connection together, may have on their way
// before the other side has taken some. They also bound what waits in our memory.
inline constexpr int32_t kH2StreamWindow = 512 << 10;
inline constexpr int32_t kH2Window = 4 << 20;
inline constexpr uint32_t kH2Streams = 100;

// The head of a message as far as it was kept.
struct H2Head {
  H2Fields fields;
  size_t size = 0;
  bool fits = true;
};

// One HTTP/2 connection: nghttp2 between a channel and its owner, who knows what the streams mean.
// Bytes of bodies are asked for when there is room for them, and allowed again when they are
// consumed.
class H2Session {
 public:
  // A part of a body, taken to be sent.
  struct Taken {
    size_t size = 0;
    bool wait = false;                   // there is nothing now: Resume says when
    bool last = false;                   // with these bytes it ends,
    const H2Fields* trailers = nullptr;  // but for these
    bool broken = false;
  };
  class Owner {
   public:
    virtual void OnHead(H2Session& session, int32_t stream, const H2Head& head, bool last) = 0;
    virtual void OnData(H2Session& session, int32_t stream, std::string_view bytes) = 0;
    virtual void OnEnd(H2Session& session, int32_t stream) = 0;      // nothing more comes of it
    virtual void OnEndSent(H2Session& session, int32_t stream) = 0;  // nor goes
    virtual void OnClosed(H2Session& session, int32_t stream, uint32_t code) = 0;
    virtual void OnRefused(H2Session& session, const std::string& why) = 0;  // no message at all
    virtual void OnGoAway(H2Session& session) = 0;
    virtual Taken Take(H2Session& session, int32_t stream, char* data, size_t size) = 0;
    virtual void OnMoved() = 0;  // there may be something to be sent, on either side

   protected:
    ~Owner() = default;
  };

  // `serves`: we are its server.
  H2Session(Connection& connection, Channel& channel, Owner& owner, bool serves);
  ~H2Session();
  H2Session(const H2Session&) = delete;
  H2Session& operator=(const H2Session&) = delete;

  int32_t Request(const H2Fields& fields, bool body, bool secret);  // the stream, or < 0
  void Answer(int32_t stream, const H2Fields& fields, bool body);
  void Inform(int32_t stream, const H2Fields& fields);  // before the answer: 100, 103
  void Reset(int32_t stream, uint32_t code);
  void Resume(int32_t stream);
  void Consume(int32_t stream, size_t size);
  void Announce();  // GOAWAY: open streams continue, others do not begin
  void Finish();    // GOAWAY, and the end

  // Runs until one side has enough; returns why, if that was an error.
  Task<std::string> Read();
  // Runs until nothing is left to send after the end, or nobody listens.
  Task<void> Write();
  void Ring() { bell_.Ring(); }
  void BeCalm(const char* why);  // GOAWAY, and it is the other side's fault
  void End();                    // Write says what there is to say, and comes back

 private:
  friend struct H2Callbacks;
  bool Late() const;
  void CountReset();
  void CountChatter();

  Connection& connection_;
  Channel& channel_;
  Owner& owner_;
  nghttp2_session* session_ = nullptr;
  Bell bell_;
  H2Head head_;              // that is being read: there is one at a time
  int64_t waited_from_ = 0;  // for the first frame, or the end of a head; 0: for neither
  Bucket resets_, chatter_;
  std::string why_;
  bool ending_ = false, broken_ = false;
};

}  // namespace cloche::egress
