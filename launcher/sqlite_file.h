#pragma once

#include <string>

#include "base/result.h"

namespace drydock::launcher {

/// Makes a database file of SQL statements, or leaves what is there.
///
/// The library is looked for when it is needed (libsqlite3.so.0), so that nobody else has to have
/// it. @error NO_SQLITE  it is not there; REPORT_WRITE  the file cannot be made
[[nodiscard]] Status WriteDatabase(const std::string& path, const std::string& statements);

}  // namespace drydock::launcher
