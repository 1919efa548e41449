#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace drydock::strategies {

/// Hash of libstdc++'s std::hash<std::string> on 64-bit, independent of the library in use.
/// Source: mindspore group_manager.cc. Example: "0-1-2-3" -> 6301172352641561019.
[[nodiscard]] std::uint64_t NameHash(std::string_view text);

/// `prefix` + hash of "<node_fullname>_<index>"; redistribution operators append their own name.
/// Source: mindspore ccsrc/frontend/parallel/group_manager.cc.
[[nodiscard]] std::string InstanceName(std::string_view prefix, std::string_view node_fullname,
                                       std::int64_t index);

/// Name of a communication group: "<count>-<hash of the sorted ranks>", or the world group's name
/// ("hccl_world_group", "nccl_world_group", ...) when the group is as large as the job.
[[nodiscard]] std::string GroupName(std::span<const std::int64_t> ranks, std::int64_t world_size,
                                    std::string_view backend);

/// The group_ranks attribute: "0-4" in the group's own order, "WORLD_GROUP" if it is the whole job.
[[nodiscard]] std::string GroupRanksText(std::span<const std::int64_t> ranks,
                                         std::int64_t world_size);

}  // namespace drydock::strategies
