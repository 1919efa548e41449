#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "strategies/document/json_reader.h"

namespace drydock::sim {

/// How much scratch memory kernels take: what a device says when it is asked, which a dry run
/// cannot.
///
/// A kernel is known by its name and the sizes of its results as the pool rounds them: what the
/// tracker of a real run writes down. Results that live in the storage of others are left out.
/// Example: {"MatMul", {4608}} takes 16,777,216 bytes.
struct WorkspaceTable {
  struct Key {
    std::string kernel = {};
    std::vector<std::int64_t> result_bytes = {};
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Entry {
    std::int64_t bytes = 0;    ///< The most that one of them took.
    std::int64_t kernels = 0;  ///< How many were seen.
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::string source = {};  ///< What it was made from.
  std::map<Key, Entry> entries = {};

  /// Scratch memory of a kernel; nothing if no such kernel was seen.
  [[nodiscard]] std::optional<std::int64_t> Find(const Key& key) const;
};

/// `drydock.workspace/1`: docs/schema/workspace.schema.json.
[[nodiscard]] std::string WorkspaceTableText(const WorkspaceTable& table);

/// @error kInvalidArgument  another format, negative or absurd sizes, the same kernel twice
[[nodiscard]] Result<WorkspaceTable> ParseWorkspaceTable(std::string_view text,
                                                         std::string_view file);

/// Adds what another table has; of what both have the larger.
void MergeWorkspaces(WorkspaceTable& table, const WorkspaceTable& other);

}  // namespace drydock::sim
