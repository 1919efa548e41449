#pragma once

#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace drydock::launcher {

/// Ends of processes that are not our children: those of a launcher that is gone, which wrote their
/// numbers to a pipe, one a line, and closed it. A scheduler that is left alone ends when all its
/// ranks have.
class RankEnds {
 public:
  /// @param pipe  not owned; negative: nobody is watched
  explicit RankEnds(int pipe);

  /// What to wait for.
  [[nodiscard]] std::vector<pollfd> Watched() const;
  /// Looks what happened to them.
  void Take(const std::vector<pollfd>& watched);
  /// All numbers are known, there is one at least, and all have ended.
  [[nodiscard]] bool all_ended() const { return complete_ && known_ > 0 && running_.empty(); }
  [[nodiscard]] std::size_t known() const { return known_; }

 private:
  void ReadNumbers();
  void Add(const std::string& number);

  int pipe_;
  std::string text_ = {};
  bool complete_ = false;
  std::size_t known_ = 0;
  std::vector<std::unique_ptr<Descriptor>> running_ = {};
};

}  // namespace drydock::launcher
