#pragma once

#include <cstdlib>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/source_dir.h"

namespace drydock::sim {

/// Reads a vector file from DRYDOCK_VECTORS, or from the tree.
inline nlohmann::json ReadVectors(const std::string& name) {
  const char* folder = std::getenv("DRYDOCK_VECTORS");
  std::ifstream file((folder != nullptr ? std::string(folder) : SourceDir() + "/tests/vectors") +
                     "/" + name);
  return nlohmann::json::parse(file, nullptr, false);
}

}  // namespace drydock::sim
