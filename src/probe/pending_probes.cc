#include "probe/probe.h"

namespace cloche::probe {
namespace {

Outcome Pending(Stage&) { return {Mark::kNotProbed, ""}; }

constexpr Probe kPending[] = {
    Scene("FS-02", "a symlink out, then the file API", Pending),
    Scene("FS-03", "a symlink swapped in between check and use", Pending),
    Scene("FS-21", "set-user-id files of an upper, used on the host", Pending),
    Scene("FS-23", "directories named a:b, x,upperdir=/etc, newline", Pending),
    Scene("FS-24", "the project replaced while a sandbox starts", Pending),
    Scene("FS-25", "bases whose /dev, /proc, /tmp are symlinks to the host", Pending),
    Scene("FS-26", "masks replaced during commands", Pending),
    Scene("FS-27", "slow files that stall the daemon", Pending),
    Scene("FS-28", "trees of 100,000 levels, a million entries", Pending),
    Scene("FS-31", "page cache of shared files: dirty COW, dirty pipe", Pending),
    Scene("FS-34", "quota escapes: project ids, holes, deleted files", Pending),
    Scene("PK-13", "LD_PRELOAD and the like into the runtime", Pending),
    Scene("PK-18", "the person's terminal as controlling terminal", Pending),
    Scene("PK-24", "races against the seccomp supervisor", Pending),
    Scene("PK-25", "a flood of denied calls", Pending),
    Scene("PK-27", "a killed daemon", Pending),
    Scene("PK-29", "gaps of Landlock on read-only files", Pending),
    Scene("PK-30", "execution that the log does not see", Pending),
    Scene("PK-32", "a kernel that lacks a layer", Pending),
    Scene("PK-33", "every set-up step failing once", Pending),
    Scene("PK-34", "the Linux Test Project's cve list inside", Pending),
    Scene("PK-35", "trinity inside", Pending),
    Scene("PK-36", "cdk, deepce, linpeas inside", Pending),
    Scene("PK-37", "the same on other backends", Pending),
    Scene("PK-38", "a hostile guest kernel", Pending),
    Scene("RD-07", "I/O and fsync storms", Pending),
    Scene("RD-09", "event and log floods", Pending),
    Scene("RD-10", "floods of the kernel's log", Pending),
    Scene("RD-12", "1000 sandboxes started and stopped, crashes in between", Pending),
    Scene("RD-13", "abuse of the daemon's API", Pending),
    Scene("RD-14", "archive bombs", Pending),
    Scene("RD-15", "snapshots of a million files", Pending),
};

constexpr Promise kPromises[] = {{"in the catalogue, not probed yet", kPending}};

}  // namespace

std::span<const Promise> PendingPromises() { return kPromises; }

}  // namespace cloche::probe
