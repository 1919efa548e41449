#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "sim/cluster/id_index.h"
#include "sim/cluster/scheduler_options.h"

namespace drydock::sim {

/// Hash with which maps of strings can be asked with views.
struct TextHash {
  using is_transparent = void;
  [[nodiscard]] std::size_t operator()(std::string_view text) const { return NeighbourHash(text); }
};

/// The scheduler's key-value store. The last writer wins; memory is bounded by the limits.
class MetadataStore {
 public:
  explicit MetadataStore(const SchedulerLimits& limits) : limits_(limits) {}

  /// Stores a value a worker wrote. False, and nothing changes, for an empty or over-long name and
  /// beyond the limits; the worker is told in neither case.
  bool Write(std::string_view name, std::string_view value);
  /// Adds to a decimal number, 0 if absent, and gives the sum; nothing, and nothing changes, if the
  /// stored value or `change` is no number of 64 bits, the sum would be none, or as in Write.
  std::optional<std::string> Add(std::string_view name, std::string_view change);
  /// True if the value is the scheduler's own.
  [[nodiscard]] bool IsOwn(std::string_view name) const;
  /// Stores a value of the scheduler itself unless there is one; does not count against the limits.
  void InsertIfAbsent(std::string name, std::string value);
  /// The value, nothing if absent. The view ends with the next change.
  [[nodiscard]] std::optional<std::string_view> Read(std::string_view name) const;
  /// True if there was such an entry.
  bool Erase(std::string_view name);
  /// Room for so many entries without rehashing.
  void Reserve(std::size_t entries) { entries_.reserve(entries); }
  /// Number of entries.
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Value {
    std::string bytes;
    bool counted = false;  ///< Counts against the limits.
  };

  SchedulerLimits limits_;
  std::size_t counted_entries_ = 0;
  std::size_t counted_bytes_ = 0;
  std::unordered_map<std::string, Value, TextHash, std::equal_to<>> entries_;
};

}  // namespace drydock::sim
