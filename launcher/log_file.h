#pragma once

#include <memory>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace drydock::launcher {

/// True if others could put links and files into the folder of `path`.
[[nodiscard]] bool IsInOpenFolder(const std::string& path);

/// Whether a log can be written there, without touching it. A link is followed only where nobody
/// else can have put it. @error LOG_DIR
[[nodiscard]] Status CheckLogFile(const std::string& path);

/// Opens a log for writing, emptied first unless it `grows`. What it is is checked on the open
/// file, so that nobody can replace it between check and use; special files are refused without
/// waiting for them.
/// @param path  empty: nothing is opened, and the descriptor is null
/// @error LOG_DIR
[[nodiscard]] Result<std::unique_ptr<Descriptor>> OpenLog(const std::string& path,
                                                          bool grows = false);

}  // namespace drydock::launcher
