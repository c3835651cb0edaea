#pragma once

#include <span>
#include <string>

#include "probe/api.h"
#include "probe/origin.h"
#include "probe/probe.h"

namespace cloche::probe {

// `cloche run` with these rules, ready for TestBed::Inside.
Words Granting(const Words& rules);

std::string Hex(const std::string& bytes);

std::span<const Probe> BorderScenes();

inline ProbeResult NoServer() { return Inconclusive("the server of the probe did not start"); }

// A scene with a server of its own.
template <ProbeResult (*kScene)(TestBed&, Origin&)>
ProbeResult WithServer(TestBed& bed) {
  Origin origin(bed);
  return origin.started() ? kScene(bed, origin) : NoServer();
}

constexpr const char* kNoInterface = "this machine has no address but loopback";

}  // namespace cloche::probe
