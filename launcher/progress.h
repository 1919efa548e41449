#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "launcher/run_progress.h"

namespace drydock::launcher {

/// How far work of many equal parts is and how long it will take, on the line of RunProgress.
class Progress {
 public:
  /// @param what  "full runs"
  Progress(std::string what, std::size_t count);
  /// `done` of `count` are done, the next is called `name`.
  void Show(std::size_t done, const std::string& name);

 private:
  std::string what_;
  std::size_t count_;
  std::chrono::steady_clock::time_point begin_;
  RunProgress line_;
};

}  // namespace drydock::launcher
