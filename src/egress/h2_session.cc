#include "egress/h2_session.h"

#include <errno.h>
#include <fmt/core.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <vector>

namespace cloche::egress {
namespace {

constexpr size_t kMostFields = 256;
constexpr size_t kFieldCost = 32;  // as HPACK counts them
constexpr size_t kBatch = 64 << 10;
constexpr int kPiecesAtOnce = 16;
constexpr size_t kReadAtOnce = 1 << 10;
constexpr int64_t kLookMs = 5000;
constexpr size_t kMostQueued = 4096;      // frames that wait for a reader who does not read
constexpr uint64_t kResetsASecond = 200;  // a browser that leaves a page drops its hundred at once
constexpr uint64_t kChatterASecond = 1000;

std::vector<nghttp2_nv> NameValues(const H2Fields& fields, uint8_t flags) {
  std::vector<nghttp2_nv> list;
  for (const Header& field : fields) {
    const auto bytes = [](const std::string& text) {
      return const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(text.data()));
    };
    list.push_back(
        {bytes(field.name), bytes(field.value), field.name.size(), field.value.size(), flags});
  }
  return list;
}

bool EndsStream(const nghttp2_frame& frame) {
  return (frame.hd.type == NGHTTP2_DATA || frame.hd.type == NGHTTP2_HEADERS) &&
         (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
}

}  // namespace

// The callbacks of nghttp2.
struct H2Callbacks {
  static H2Session& Of(void* self) { return *static_cast<H2Session*>(self); }

  static int BeginHead(nghttp2_session*, const nghttp2_frame*, void* user) {
    H2Session& self = Of(user);
    self.head_ = {};
    self.waited_from_ = self.connection_.services.loop.now();
    return 0;
  }

  // Invalid fields come here too: the head is refused as a whole.
  static int Field(nghttp2_session*, const nghttp2_frame*, const uint8_t* name, size_t name_size,
                   const uint8_t* value, size_t value_size, uint8_t, void* user) {
    H2Head& head = Of(user).head_;
    head.size += name_size + value_size + kFieldCost;
    if (head.size > kMostHttpHead || head.fields.size() == kMostFields) head.fits = false;
    if (head.fits)
      head.fields.push_back({std::string(reinterpret_cast<const char*>(name), name_size),
                             std::string(reinterpret_cast<const char*>(value), value_size)});
    return 0;
  }

  static int Frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    H2Session& self = Of(user);
    self.waited_from_ = 0;
    const bool last = EndsStream(*frame);
    const int32_t stream = frame->hd.stream_id;
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS: {
        const H2Head head = std::exchange(self.head_, {});
        self.owner_.OnHead(self, stream, head, last);
        break;
      }
      case NGHTTP2_RST_STREAM:
        self.CountReset();
        break;
      case NGHTTP2_GOAWAY:
        self.owner_.OnGoAway(self);
        break;
      case NGHTTP2_DATA:
        if (frame->hd.length == 0 && !last) self.CountChatter();
        break;
      case NGHTTP2_PING:
      case NGHTTP2_SETTINGS:
      case NGHTTP2_PRIORITY:
        self.CountChatter();
        break;
      default:
        break;
    }
    if (last) self.owner_.OnEnd(self, stream);
    return 0;
  }

  static int BadFrame(nghttp2_session*, const nghttp2_frame* frame, int error, void* user) {
    H2Session& self = Of(user);
    if (frame->hd.type == NGHTTP2_HEADERS)
      self.owner_.OnRefused(self, fmt::format("HTTP/2: {}", nghttp2_strerror(error)));
    return 0;
  }

  static int Data(nghttp2_session*, uint8_t, int32_t stream, const uint8_t* data, size_t size,
                  void* user) {
    Of(user).owner_.OnData(Of(user), stream,
                           std::string_view(reinterpret_cast<const char*>(data), size));
    return 0;
  }

  static int Closed(nghttp2_session*, int32_t stream, uint32_t code, void* user) {
    Of(user).owner_.OnClosed(Of(user), stream, code);
    return 0;
  }

  static int Sent(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    H2Session& self = Of(user);
    if (EndsStream(*frame)) self.owner_.OnEndSent(self, frame->hd.stream_id);
    // A peer that makes us reset streams is counted like one that resets them.
    if (frame->hd.type == NGHTTP2_RST_STREAM && frame->rst_stream.error_code != kH2NoError &&
        frame->rst_stream.error_code != kH2RefusedStream)
      self.CountReset();
    return 0;
  }

  // A request that the server will not take any more has not begun.
  static int NotSent(nghttp2_session*, const nghttp2_frame* frame, int, void* user) {
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
      Of(user).owner_.OnClosed(Of(user), frame->hd.stream_id, kH2RefusedStream);
    return 0;
  }

  static ssize_t Take(nghttp2_session* session, int32_t stream, uint8_t* data, size_t size,
                      uint32_t* flags, nghttp2_data_source*, void* user) {
    const H2Session::Taken taken =
        Of(user).owner_.Take(Of(user), stream, reinterpret_cast<char*>(data), size);
    if (taken.broken) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (taken.wait) return NGHTTP2_ERR_DEFERRED;
    if (taken.last) *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (taken.last && taken.trailers != nullptr) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      const auto list = NameValues(*taken.trailers, NGHTTP2_NV_FLAG_NONE);
      if (nghttp2_submit_trailer(session, stream, list.data(), list.size()) != 0)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    return static_cast<ssize_t>(taken.size);
  }
};

H2Session::H2Session(Connection& connection, Channel& channel, Owner& owner, bool serves)
    : connection_(connection),
      channel_(channel),
      owner_(owner),
      bell_(connection.services.loop),
      waited_from_(connection.services.loop.now()) {
  nghttp2_session_callbacks* calls = nullptr;
  nghttp2_option* option = nullptr;
  if (nghttp2_session_callbacks_new(&calls) != 0 || nghttp2_option_new(&option) != 0)
    std::terminate();  // out of memory, as everywhere
  nghttp2_session_callbacks_set_on_begin_headers_callback(calls, H2Callbacks::BeginHead);
  nghttp2_session_callbacks_set_on_header_callback(calls, H2Callbacks::Field);
  nghttp2_session_callbacks_set_on_invalid_header_callback(calls, H2Callbacks::Field);
  nghttp2_session_callbacks_set_on_frame_recv_callback(calls, H2Callbacks::Frame);
  nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(calls, H2Callbacks::BadFrame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, H2Callbacks::Data);
  nghttp2_session_callbacks_set_on_stream_close_callback(calls, H2Callbacks::Closed);
  nghttp2_session_callbacks_set_on_frame_send_callback(calls, H2Callbacks::Sent);
  nghttp2_session_callbacks_set_on_frame_not_send_callback(calls, H2Callbacks::NotSent);
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_option_set_max_outbound_ack(option, 1000);
  nghttp2_option_set_max_reserved_remote_streams(option, 0);
  const int made = serves ? nghttp2_session_server_new2(&session_, calls, this, option)
                          : nghttp2_session_client_new2(&session_, calls, this, option);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(calls);
  if (made != 0) std::terminate();
  const nghttp2_settings_entry common[] = {
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kH2StreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kMostHttpHead},
      // No push, no priorities.
      serves ? nghttp2_settings_entry{NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}
             : nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, serves ? kH2Streams : 0}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, common, std::size(common));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kH2Window);
}

H2Session::~H2Session() { nghttp2_session_del(session_); }

int32_t H2Session::Request(const H2Fields& fields, bool body, bool secret) {
  // Secrets stay out of tables that compress other requests.
  const auto list = NameValues(fields, secret ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE);
  nghttp2_data_provider provider{};
  provider.read_callback = H2Callbacks::Take;
  return nghttp2_submit_request(session_, nullptr, list.data(), list.size(),
                                body ? &provider : nullptr, nullptr);
}

void H2Session::Answer(int32_t stream, const H2Fields& fields, bool body) {
  const auto list = NameValues(fields, NGHTTP2_NV_FLAG_NONE);
  nghttp2_data_provider provider{};
  provider.read_callback = H2Callbacks::Take;
  nghttp2_submit_response(session_, stream, list.data(), list.size(), body ? &provider : nullptr);
}

void H2Session::Inform(int32_t stream, const H2Fields& fields) {
  const auto list = NameValues(fields, NGHTTP2_NV_FLAG_NONE);
  nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, stream, nullptr, list.data(), list.size(),
                         nullptr);
}

void H2Session::Reset(int32_t stream, uint32_t code) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, code);
}

void H2Session::Resume(int32_t stream) { nghttp2_session_resume_data(session_, stream); }

void H2Session::Consume(int32_t stream, size_t size) {
  if (size > 0) nghttp2_session_consume(session_, stream, size);
}

void H2Session::Announce() {
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
}

void H2Session::Finish() { nghttp2_session_terminate_session(session_, NGHTTP2_NO_ERROR); }

void H2Session::End() {
  ending_ = true;
  bell_.Ring();
}

void H2Session::BeCalm(const char* why) {
  if (!why_.empty()) return;
  why_ = why;
  nghttp2_session_terminate_session(session_, NGHTTP2_ENHANCE_YOUR_CALM);
}

void H2Session::CountReset() {
  if (!resets_.Take(kResetsASecond, connection_.services.loop.now()))
    BeCalm("HTTP/2: too many streams are reset");
}

void H2Session::CountChatter() {
  if (!chatter_.Take(kChatterASecond, connection_.services.loop.now()))
    BeCalm("HTTP/2: too many frames that say nothing");
}

bool H2Session::Late() const {
  const int64_t now = connection_.services.loop.now();
  return now >= connection_.IdleDeadline() ||
         (waited_from_ != 0 && now >= waited_from_ + kHeadPatienceMs);
}

Task<std::string> H2Session::Read() {
  Yield yield{connection_.services.loop};
  for (int pieces = 1; !broken_ && !Late(); ++pieces) {
    if (pieces % kPiecesAtOnce == 0) co_await yield;
    const int64_t deadline =
        std::min(connection_.IdleDeadline(), connection_.services.loop.now() + kLookMs);
    const long got = co_await channel_.Fill(deadline);
    if (got == -ETIMEDOUT && nghttp2_session_want_read(session_) != 0) continue;
    if (got <= 0) co_return why_;
    // In small pieces, between which others may run: their contents are scanned for decoys.
    ssize_t used = 0;
    const std::string bytes = std::exchange(channel_.unread, {});
    for (size_t at = 0; at < bytes.size() && used >= 0 && why_.empty(); at += kReadAtOnce) {
      if (connection_.services.loop.TurnIsOver()) co_await yield;
      used = nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(bytes.data()) + at,
                                      std::min(kReadAtOnce, bytes.size() - at));
    }
    if (used < 0) {
      why_ = fmt::format("HTTP/2: {}", nghttp2_strerror(static_cast<int>(used)));
      nghttp2_session_terminate_session(session_, NGHTTP2_ENHANCE_YOUR_CALM);
    } else if (nghttp2_session_get_outbound_queue_size(session_) > kMostQueued) {
      BeCalm("HTTP/2: it does not read what it asks for");
    }
    owner_.OnMoved();
    if (used < 0 || !why_.empty()) co_return why_;
    if (nghttp2_session_want_read(session_) == 0) co_return why_;
  }
  co_return why_;
}

Task<void> H2Session::Write() {
  Yield yield{connection_.services.loop};
  std::string batch;
  for (int pieces = 1;; ++pieces) {
    batch.clear();
    while (batch.size() < kBatch) {
      const uint8_t* bytes = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
      if (size < 0) broken_ = true;
      if (size <= 0) break;
      batch.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
    }
    if (!batch.empty()) {
      owner_.OnMoved();
      const int64_t deadline = connection_.Deadline(kWritePatienceMs);
      const long sent = co_await channel_.Write(batch, deadline);
      if (sent < 0) broken_ = true;
      if (pieces % kPiecesAtOnce == 0) co_await yield;
    }
    if (broken_) break;
    if (!batch.empty()) continue;
    const bool over =
        nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
    if (ending_ || over) break;
    batch.shrink_to_fit();
    co_await bell_;
  }
  if (broken_) {
    channel_.Cut();  // whoever reads need not wait for more
  } else {
    channel_.EndSending();
  }
}

}  // namespace cloche::egress
