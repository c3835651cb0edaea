#include "probe/probe.h"

#include <fmt/core.h>
#include <poll.h>

namespace cloche::probe {

ProbeResult Held(std::string detail) { return {Mark::kHeld, std::move(detail)}; }
ProbeResult Broken(std::string detail) { return {Mark::kBroken, std::move(detail)}; }
ProbeResult NoControl(std::string detail) {
  if (detail.empty()) detail = "the attack does nothing without a sandbox either";
  return {Mark::kNoControl, std::move(detail)};
}
ProbeResult NotHere(std::string reason) { return {Mark::kNotHere, std::move(reason)}; }
ProbeResult DidNotRun(const Ran& ran) {
  if (!ran.ended) return {Mark::kError, "it did not end"};
  return {Mark::kError, fmt::format("exit {}: {}", ran.status, ran.LastError())};
}

ProbeResult Inconclusive(std::string problem) { return {Mark::kError, std::move(problem)}; }

std::string Unresponsive(const TestBed& bed) {
  if (!RunToEnd(bed.Outside("nothing", {})).Reported())
    return "the host does not start a program meanwhile";
  const Ran second = RunToEnd(bed.Inside({"run", "-q"}, "nothing", {}));
  if (!second.Reported()) return "a second sandbox meanwhile: " + DidNotRun(second).detail;
  const Ran old = RunToEnd(bed.Inside({"exec", "-q", bed.sandbox()}, "nothing", {}));
  if (!old.Reported()) return "an older sandbox meanwhile: " + DidNotRun(old).detail;
  return "";
}

long DaemonMemory(const TestBed& bed) {
  const std::string status = ReadAll(fmt::format("/proc/{}/status", bed.daemon_pid()));
  const size_t at = status.find("VmRSS:");
  return at == std::string::npos ? 0 : atol(status.c_str() + at + 6) * 1024;
}

std::string Join(const Words& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i == 3) return text + fmt::format(" and {} more", words.size() - i);
    text += (i == 0 ? "" : ", ") + words[i];
  }
  return text;
}

namespace {

ProbeResult RunEverywhere(const Probe& probe, TestBed& bed) {
  const auto run_at = [&](Site place) {
    const Words words = probe.words != nullptr ? probe.words(bed, place) : Words{};
    Launch launch = bed.At(place, std::string(probe.attack), words);
    // Careless parents leave descriptors open; the control shows that the attack finds them.
    launch.leak_directory = true;
    return RunToEnd(launch);
  };
  std::string note;
  const char* why = probe.uncontrolled != nullptr ? probe.uncontrolled(bed) : nullptr;
  if (why != nullptr) {
    note = fmt::format("no control: {}", why);
  } else {
    const Ran control = run_at(probe.control);
    // Signals and the like arrive a moment later on a busy machine.
    Words fired = bed.Evidence(control);
    for (int tries = 0; fired.empty() && tries < 300 && !interrupted; ++tries) {
      poll(nullptr, 0, 10);
      fired = bed.Evidence(control);
    }
    bed.Settle();
    if (fired.empty())
      return NoControl(control.Reported() ? "" : "control: " + DidNotRun(control).detail);
  }
  int refused = 0;
  for (const Site place : kWaysIn) {
    const Ran ran = run_at(place);
    const Words evidence = bed.Evidence(ran);
    if (!evidence.empty()) return Broken(fmt::format("{}: {}", SiteName(place), Join(evidence)));
    if (!ran.Reported()) {
      ProbeResult outcome = DidNotRun(ran);
      outcome.detail = fmt::format("{}: {}", SiteName(place), outcome.detail);
      return outcome;
    }
    refused += ran.report["refused"].get<int>();
  }
  if (note.empty() && refused > 0) note = fmt::format("{} tries refused", refused);
  return Held(note);
}

}  // namespace

ProbeResult RunProbe(const Probe& probe, TestBed& bed) {
  try {
    return probe.scene != nullptr ? probe.scene(bed) : RunEverywhere(probe, bed);
  } catch (const std::exception& unexpected) {  // of a report that is not what it should be
    return Inconclusive(unexpected.what());
  }
}

}  // namespace cloche::probe
