#include "probe/probe.h"

namespace cloche::probe {
namespace {

// The exact reason why a row waits; the list shrinks as features come.
template <const char* kReason>
ProbeResult WaitsFor(TestBed&) {
  return {Mark::kNotProbed, kReason};
}

constexpr char kFileApi[] = "waits for an API that reads and writes files of a sandbox";
constexpr char kLedger[] = "waits for the audit ledger";
constexpr char kMinutes[] = "takes minutes and gigabytes: scenario.diff_many, the bench timetravel";
constexpr char kImages[] = "waits for bases from archives";
constexpr char kBackends[] = "waits for a second backend (gVisor, a virtual machine)";
constexpr char kNames[] =
    "this machine would have to believe a name server that lies: the test egress.transparent";
constexpr char kInTls[] =
    "this machine would have to believe an authority of ours: egress.h2, scenario.secrets";
constexpr char kCovert[] = "known and open: side channels in SECURITY.md";
constexpr char kKilled[] = "not on your daemon, which it would end: the test fault.kill";
constexpr char kInjected[] = "needs a tracer on the privileged program: the test fault.setup";
constexpr char kThirdParty[] = "a suite of others that is not installed with Cloche";

constexpr Probe kPending[] = {
    Scene("FS-02", "a symlink out, then the file API", WaitsFor<kFileApi>),
    Scene("FS-03", "a symlink swapped in between check and use", WaitsFor<kFileApi>),
    Scene("PK-27", "a killed daemon", WaitsFor<kKilled>),
    Scene("PK-30", "execution that the log does not see", WaitsFor<kLedger>),
    Scene("PK-32", "a kernel that lacks a layer", WaitsFor<kInjected>),
    Scene("PK-33", "every set-up step failing once", WaitsFor<kInjected>),
    Scene("PK-34", "the Linux Test Project's cve list inside", WaitsFor<kThirdParty>),
    Scene("PK-35", "trinity inside", WaitsFor<kThirdParty>),
    Scene("PK-36", "cdk, deepce, linpeas inside", WaitsFor<kThirdParty>),
    Scene("PK-37", "the same on other backends", WaitsFor<kBackends>),
    Scene("PK-38", "a hostile guest kernel", WaitsFor<kBackends>),
    Scene("NE-07b", "names that change their address between two questions", WaitsFor<kNames>),
    Scene("NE-14b", "the same requests in TLS, HTTP/2, gRPC; secrets that an answer echoes",
          WaitsFor<kInTls>),
    Scene("NE-29b", "disk, load and time as a channel between sandboxes", WaitsFor<kCovert>),
    Scene("RD-14", "archive bombs", WaitsFor<kImages>),
    Scene("RD-15", "snapshots of a million files", WaitsFor<kMinutes>),
};

constexpr Promise kPromises[] = {{"in the catalogue, not probed here", kPending}};

}  // namespace

std::span<const Promise> PendingPromises() { return kPromises; }

}  // namespace cloche::probe
