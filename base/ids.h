#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace drydock {

/// Global rank of a process in the job, 0-based.
enum class RankId : std::int32_t {};
/// Pipeline stage, 0-based.
enum class StageId : std::int32_t {};
/// Index of a node in its graph.
enum class NodeId : std::int32_t {};
/// Index of a value (graph input, parameter, constant or node output) in its graph.
enum class ValueId : std::int32_t {};

/// The number behind a typed id.
template <typename Id>
requires std::is_enum_v<Id>
[[nodiscard]] constexpr std::int64_t ToInt(Id id) {
  return static_cast<std::int64_t>(id);
}

/// The number behind a typed id, as a container index.
template <typename Id>
requires std::is_enum_v<Id>
[[nodiscard]] constexpr std::size_t ToIndex(Id id) {
  return static_cast<std::size_t>(id);
}

}  // namespace drydock
