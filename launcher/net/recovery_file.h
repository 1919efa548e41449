#pragma once

#include <string>

#include "base/result.h"
#include "sim/cluster/snapshot.h"

namespace drydock::launcher {

/// `recovery.dat` in a folder: what a scheduler needs to go on after it was killed. At every moment
/// the file holds a complete state: the old one or the new one.
class RecoveryFile {
 public:
  /// @param folder  MS_RECOVERY_PATH; must exist
  explicit RecoveryFile(std::string folder);

  /// The stored state; no nodes if the file is missing, empty or `{}`.
  /// @error RECOVERY_STATE  the folder is missing, the file is unreadable or of another form; it is
  ///                        left as it is
  [[nodiscard]] Result<sim::SchedulerSnapshot> Load() const;
  /// Returns once the state is on the disk: temporary file, fsync, rename, fsync of the folder.
  /// @error RECOVERY_WRITE  with the reason of the system; the old state is still there
  [[nodiscard]] Status Store(const sim::SchedulerSnapshot& snapshot) const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string folder_;
  std::string path_;
};

}  // namespace drydock::launcher
