#pragma once

#include <string>

#include "probe/test_bed.h"

namespace cloche::probe {

// A sandbox of a scene's own that lives as long as the scene does.
class Kept {
 public:
  Kept(const TestBed& bed, const std::string& suffix, const Words& options)
      : stage_(bed), name_(bed.token() + suffix) {
    Words words = {"new", "--name", name_};
    words.insert(words.end(), options.begin(), options.end());
    made_ = RunToEnd(bed.Cli(words));
  }
  ~Kept() { RunToEnd(stage_.Cli({"rm", name_})); }
  Kept(const Kept&) = delete;

  bool there() const { return made_.status == 0; }
  const Ran& made() const { return made_; }
  const std::string& name() const { return name_; }
  Words way_in() const { return {"exec", "-q", name_}; }  // for TestBed::Inside
  Ran Run(const std::string& attack, const Words& words) const {
    return RunToEnd(stage_.Inside(way_in(), attack, words));
  }

 private:
  const TestBed& stage_;
  std::string name_;
  Ran made_;
};

}  // namespace cloche::probe
