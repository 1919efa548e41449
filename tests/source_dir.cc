#include "tests/source_dir.h"

namespace drydock {

const std::string& SourceDir() {
  static const std::string folder = DRYDOCK_SOURCE_DIR;
  return folder;
}

}  // namespace drydock
