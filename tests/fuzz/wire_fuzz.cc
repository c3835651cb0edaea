// Frames between client and daemon, messages between daemon and spawn, system calls.
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "base/frames.h"
#include "base/spawn_protocol.h"
#include "fuzz.h"
#include "sys/bpf_evaluator.h"
#include "sys/fd.h"
#include "sys/message.h"
#include "sys/seccomp.h"
#include "sys/seccomp_decide.h"

namespace cloche::fuzz {
namespace {

// The lowest free number: what leaks raises it.
int NextFd() {
  const int fd = dup(0);
  close(fd);
  return fd;
}

uint64_t SomeArgument(Random& random) {
  return random.OneIn(2) ? random.Number() : random.Number() | random.Next() << 32;
}

}  // namespace

bool FuzzFrames(Random& random) {
  constexpr FrameType kTypes[] = {FrameType::kStdin,   FrameType::kStdinEnd, FrameType::kResize,
                                  FrameType::kSignal,  FrameType::kStdout,   FrameType::kStderr,
                                  FrameType::kStarted, FrameType::kResult,   FrameType::kNotice};
  const FrameType type = random.Pick(kTypes);
  const std::string payload(random.Below(64), 'p');
  std::string stream;
  AppendFrame(stream, type, payload);
  const bool spoiled = random.OneIn(2);
  if (spoiled) stream = Mutate(random, std::move(stream), {});
  if (stream.size() < kFrameHeader) return false;
  unsigned char bytes[kFrameHeader];
  std::memcpy(bytes, stream.data(), kFrameHeader);
  FrameHead head;
  const bool accepted = ParseFrameHead(bytes, head);
  Require(accepted || spoiled, "a frame of ours is read");
  if (!accepted) return false;
  Require(head.length <= kMaxFramePayload, "a frame's length is bounded");
  bool known = false;
  for (FrameType each : kTypes) known = known || each == head.type;
  Require(known, "a frame's type is known");
  std::string again;
  AppendFrame(again, head.type, std::string(head.length, 'p'));
  Require(std::memcmp(again.data(), bytes, kFrameHeader) == 0, "a head has one encoding");
  if (!spoiled) Require(again == stream, "a frame survives");
  return true;
}

bool FuzzMessages(Random& random) {
  const int before = NextFd();
  bool accepted = false;
  {
    sys::Fd ours, theirs;
    Require(sys::MakeSocketPair(ours, theirs) == 0, "a pair of sockets");
    const size_t sizes[] = {1, sizeof(SpawnRequest) - 1, sizeof(SpawnRequest),
                            sizeof(SpawnRequest) + 1, 4 * sizeof(SpawnRequest)};
    std::string sent(random.Pick(sizes), '\0');
    for (char& byte : sent) byte = static_cast<char>(random.Next());
    const std::vector<int> fds(random.Below(8), 0);
    Require(sys::SendMessage(ours.get(), sent.data(), sent.size(), fds) ==
                static_cast<long>(sent.size()),
            "a message is sent");
    SpawnRequest request{};
    int received[4];
    int count = 0;
    const long got = sys::ReceiveMessage(theirs.get(), &request, sizeof request, received, count);
    const bool fits = sent.size() <= sizeof request && fds.size() <= std::size(received);
    Require(fits ? got == static_cast<long>(sent.size()) : got == -EMSGSIZE,
            "a message that does not fit is refused whole", std::to_string(got));
    Require(count == (fits ? static_cast<int>(fds.size()) : 0), "all descriptors or none");
    Require(!fits || std::memcmp(&request, sent.data(), sent.size()) == 0, "bytes arrive");
    for (int i = 0; i < count; ++i) {
      Require((fcntl(received[i], F_GETFD) & FD_CLOEXEC) != 0, "descriptors close on exec");
      close(received[i]);
    }
    accepted = fits;
  }
  Require(NextFd() == before, "no descriptor is left");
  return accepted;
}

bool FuzzSeccomp(Random& random) {
  static const sys::SeccompProgram programs[] = {sys::CompileFilter(sys::SyscallAbi::kX86_64),
                                                 sys::CompileFilter(sys::SyscallAbi::kAarch64)};
  constexpr uint32_t kArchitectures[] = {0xc000003e, 0xc00000b7};  // x86-64, aarch64
  const size_t which = random.Below(2);
  const auto abi = which == 0 ? sys::SyscallAbi::kX86_64 : sys::SyscallAbi::kAarch64;
  seccomp_data data{};
  data.nr = static_cast<int>(random.OneIn(8) ? random.Number() : random.Below(480));
  data.arch = random.OneIn(16) ? static_cast<uint32_t>(random.Number()) : kArchitectures[which];
  uint64_t arguments[6];
  for (size_t i = 0; i < 6; ++i) data.args[i] = arguments[i] = SomeArgument(random);

  const std::optional<uint32_t> action = sys::EvaluateBpf(programs[which].code, data);
  Require(action.has_value(), "the filter always decides");
  const uint32_t kill = SECCOMP_RET_KILL_PROCESS;
  const bool x32 = which == 0 && static_cast<uint32_t>(data.nr) >= 0x40000000 && data.nr != -1;
  if (data.arch != kArchitectures[which] || x32) {
    Require(*action == kill, "a foreign call dies", std::to_string(data.nr));
    return false;
  }
  Require(*action == sys::FilterAction(sys::Decide(abi, data.nr, arguments)),
          "the filter does what the table says", std::to_string(data.nr));
  for (size_t i = 0; i < 6; ++i) data.args[i] ^= random.Next() << 32;
  Require(sys::EvaluateBpf(programs[which].code, data) == action,
          "garbage above 32 bits changes nothing", std::to_string(data.nr));

  std::vector<sock_filter> spoiled = programs[which].code;
  sock_filter& step = random.Pick(spoiled);
  step.k = static_cast<uint32_t>(random.Number());
  step.code = static_cast<uint16_t>(random.OneIn(2) ? step.code : random.Next());
  step.jt = static_cast<uint8_t>(random.Next());
  (void)sys::EvaluateBpf(spoiled, data);  // the evaluator must survive any program
  return *action == SECCOMP_RET_ALLOW;
}

}  // namespace cloche::fuzz
