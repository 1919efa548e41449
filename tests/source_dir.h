#pragma once

#include <string>

namespace drydock {

/// Root of the checkout that the tests were built from. A function of one small library, not a
/// macro of every source: what is compiled must not depend on the folder of the checkout, or no
/// compiler cache can serve another one.
[[nodiscard]] const std::string& SourceDir();

}  // namespace drydock
