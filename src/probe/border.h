#pragma once

#include <span>
#include <string>

#include "probe/api.h"
#include "probe/origin.h"
#include "probe/probe.h"

namespace cloche::probe {

// `cloche run` with these rules, ready for Stage::Inside.
Words Granting(const Words& rules);

std::string Hex(const std::string& bytes);

std::span<const Probe> BorderScenes();

inline Outcome NoServer() { return Inconclusive("the server of the probe did not start"); }

// A scene with a server of its own.
template <Outcome (*kScene)(Stage&, Origin&)>
Outcome WithServer(Stage& stage) {
  Origin origin(stage);
  return origin.started() ? kScene(stage, origin) : NoServer();
}

constexpr const char* kNoInterface = "this machine has no address but loopback";

}  // namespace cloche::probe
