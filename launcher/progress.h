#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace drydock::launcher {

/// One line on a terminal that says how far long work is and how long it will take; nothing where
/// stderr is not a terminal. The line is gone when the object is.
class Progress {
 public:
  /// @param what  "full runs"
  Progress(std::string what, std::size_t count);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// `done` of `count` are done, the next is called `name`.
  void Show(std::size_t done, const std::string& name);

 private:
  std::string what_;
  std::size_t count_;
  bool terminal_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace drydock::launcher
