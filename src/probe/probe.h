#pragma once

#include <span>
#include <string>
#include <string_view>

#include "probe/stage.h"

namespace cloche::probe {

enum class Mark {
  kHeld,
  kBroken,
  kNoControl,  // the attack does nothing without a sandbox either, so it proves nothing
  kError,      // the attack did not run
  kNotHere,    // cannot be tried on this machine; the reason is printed
  kNotProbed,  // in the catalogue, not yet written
};

struct Outcome {
  Mark mark = Mark::kHeld;
  std::string detail;

  bool Fails() const {
    return mark == Mark::kBroken || mark == Mark::kNoControl || mark == Mark::kError;
  }
};

// One row. Usually an attack program, run at every place; the host looks for evidence after each.
// What needs the host to act in between is a scene.
struct Probe {
  std::string_view id;
  std::string_view attempt;
  std::string_view attack = "";
  Words (*words)(const Stage&, Place) = nullptr;
  Place control = Place::kBare;
  // Why the control cannot fire here; the probe then runs without, and says so.
  const char* (*uncontrolled)(const Stage&) = nullptr;
  Outcome (*scene)(Stage&) = nullptr;
};

constexpr Probe Scene(std::string_view id, std::string_view attempt, Outcome (*scene)(Stage&)) {
  return {.id = id, .attempt = attempt, .scene = scene};
}

struct Promise {
  std::string_view text;
  std::span<const Probe> probes;
};

std::span<const Promise> FilePromises();
std::span<const Promise> GrantPromises();
std::span<const Promise> StartPromises();
std::span<const Promise> StormPromises();
std::span<const Promise> ProcessPromises();
std::span<const Promise> KernelPromises();
std::span<const Promise> NetworkPromises();
std::span<const Promise> BorderPromises();
std::span<const Promise> ResourcePromises();
std::span<const Promise> PendingPromises();

Outcome RunProbe(const Probe& probe, Stage& stage);

// For scenes.
Outcome Held(std::string detail = "");
Outcome Broken(std::string detail);
Outcome NoControl(std::string detail = "");
Outcome NotHere(std::string reason);
Outcome DidNotRun(const Ran& ran);
Outcome Inconclusive(std::string problem);
std::string Join(const Words& words);
// Whether everybody else goes on: completing is the promise, no clock is consulted. Empty if so.
std::string Unresponsive(const Stage& stage);
long DaemonMemory(const Stage& stage);  // resident bytes; 0 when it cannot be seen

}  // namespace cloche::probe
