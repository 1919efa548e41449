#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace drydock::sim {

/// Writes a text to a file whose name appears only when it is whole: another file of the same
/// folder takes it first.
/// @error kIo  with the path and the system's reason
[[nodiscard]] Status WriteDocumentFile(const std::string& path, std::string_view text);

}  // namespace drydock::sim
