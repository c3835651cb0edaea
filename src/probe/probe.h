#pragma once

#include <span>
#include <string>
#include <string_view>

#include "probe/test_bed.h"

namespace cloche::probe {

enum class Mark {
  kHeld,
  kBroken,
  kNoControl,  // the attack does nothing without a sandbox either, so it proves nothing
  kError,      // the attack did not run
  kNotHere,    // cannot be tried on this machine; the reason is printed
  kNotProbed,  // in the catalogue, not yet written
};

struct ProbeResult {
  Mark mark = Mark::kHeld;
  std::string detail;

  bool Fails() const {
    return mark == Mark::kBroken || mark == Mark::kNoControl || mark == Mark::kError;
  }
};

// One row. Usually an attack program, run at every place; the host looks for evidence after each.
// If the host has to act in between, it is a scene.
struct Probe {
  std::string_view id;
  std::string_view attempt;
  std::string_view attack = "";
  Words (*words)(const TestBed&, Site) = nullptr;
  Site control = Site::kBare;
  // Why the control cannot fire here; the probe then runs without, and says so.
  const char* (*uncontrolled)(const TestBed&) = nullptr;
  ProbeResult (*scene)(TestBed&) = nullptr;
};

constexpr Probe Scene(std::string_view id, std::string_view attempt,
                      ProbeResult (*scene)(TestBed&)) {
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

ProbeResult RunProbe(const Probe& probe, TestBed& bed);

// For scenes.
ProbeResult Held(std::string detail = "");
ProbeResult Broken(std::string detail);
ProbeResult NoControl(std::string detail = "");
ProbeResult NotHere(std::string reason);
ProbeResult DidNotRun(const Ran& ran);
ProbeResult Inconclusive(std::string problem);
std::string Join(const Words& words);
// Checks that everybody else continues: completing is the promise, no clock is consulted. Empty if
// so.
std::string Unresponsive(const TestBed& bed);
long DaemonMemory(const TestBed& bed);  // resident bytes; 0 when it cannot be seen

}  // namespace cloche::probe
