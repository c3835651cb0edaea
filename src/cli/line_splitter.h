#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace cloche::cli {

// Pieces of an answer, line by line.
class LineSplitter {
 public:
  explicit LineSplitter(std::function<void(std::string_view)> take) : take_(std::move(take)) {}
  void Add(std::string_view piece) {
    size_t at = 0, from = pending_.size();  // before that there is no end of a line
    pending_ += piece;
    for (size_t end; (end = pending_.find('\n', from)) != std::string::npos; at = from = end + 1)
      take_(std::string_view(pending_).substr(at, end - at));
    pending_.erase(0, at);
  }
  void End() {
    if (!pending_.empty()) take_(pending_);
  }

 private:
  std::function<void(std::string_view)> take_;
  std::string pending_;
};

}  // namespace cloche::cli
