#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "sys/fd.h"

namespace cloche::pipeline {

using Json = nlohmann::ordered_json;

// The history of one sandbox's changes on their way, in ~/.local/state/cloche/pipelines/SANDBOX
// (docs/formats/pipeline.md). Only appended to; a line is on disk before what it announces begins.
class Journal {
 public:
  // Creates missing directories, mode 0700.
  static Result<Journal> Open(const std::string& home, const std::string& sandbox);

  // Taken by the process that runs the stages, for as long as this lives. Others may still append.
  bool TakeTurn();
  bool SomebodyRuns() const;
  Status Append(const Json& line) const;
  Result<std::vector<Json>> Read() const;
  off_t size() const;

  Result<sys::Fd> OpenLog(const std::string& name) const;           // emptied
  std::string ReadLog(const std::string& name, size_t most) const;  // the end of it
  Status WriteText(const std::string& name, const std::string& text) const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  sys::Fd directory_, file_, turn_;
};

std::string Now();  // RFC 3339

}  // namespace cloche::pipeline
