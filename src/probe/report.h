#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "probe/probe.h"

namespace cloche::probe {

struct Row {
  std::string_view promise;
  const Probe* probe;
  ProbeResult outcome;
};

void PrintTable(const std::vector<Row>& rows, const std::string& mode, bool colour);
void PrintJson(const std::vector<Row>& rows, const std::string& mode);

}  // namespace cloche::probe
