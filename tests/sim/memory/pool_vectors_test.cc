// The pool against results recorded from the reference system: every result, the final state, every
// block and every report line of tests/vectors/memory_pool.json.

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/memory/device_memory.h"
#include "sim/memory/pool.h"
#include "tests/sim/memory/vectors.h"

namespace drydock::sim {
namespace {

using nlohmann::json;

const char* PoolKindName(PoolKind pool) {
  return pool == PoolKind::kCommon ? "common" : "persistent";
}

std::optional<std::int64_t> Gibibytes(const json& value) {
  if (value.is_null()) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(value.get<float>() * static_cast<float>(kGiB));
}

/// Replays one case; buffers are known by the names the vectors give them.
class Replay {
 public:
  explicit Replay(const json& config)
      : device_(SimulatedDevice(Gibibytes(config.at("max_memory_gib")))),
        config_{.simulation = config.at("simulation"),
                .capacity_bytes = device_.ms_used_bytes,
                .block_unit_bytes = Gibibytes(config.at("increase_gib")),
                .initial_bytes = Gibibytes(config.at("init_gib")).value_or(0),
                .task_sink = config.at("task_sink")},
        pool_(config_) {}

  json Apply(const json& op) {
    const std::string name = op.at(0);
    if (name == "alloc") {
      return Alloc(op);
    }
    if (name == "alloc_continuous") {
      return AllocContinuous(op);
    }
    if (name == "record_event") {
      pool_.RecordEvent(address_.at(op.at(1)), StreamEvent{op.at(2), op.at(3), op.at(4)});
      return json::object();
    }
    if (name == "wait_event") {
      pool_.WaitEvent(StreamEvent{op.at(1), op.at(2), op.at(3)});
    } else if (name == "free") {
      pool_.Free(address_.at(op.at(1)));
    } else if (name == "free_part") {
      FreePart(op);
    } else {
      return "unknown operation " + name;
    }
    return {{"used", pool_.statistics().used_bytes}};
  }

  [[nodiscard]] json Final() const {
    const PoolStatistics statistics = pool_.statistics();
    json blocks = json::array();
    for (const AllocatorBlocks& allocator : pool_.Blocks()) {
      for (const PoolBlock& block : allocator.blocks) {
        blocks.push_back({{"pool", PoolKindName(allocator.pool)},
                          {"stream", allocator.stream},
                          {"offset", block.address},
                          {"size", block.bytes},
                          {"used_from", block.used_from},
                          {"used_to", block.used_to}});
      }
    }
    const PeakReport report{.device = device_,
                            .used_peak_bytes = statistics.used_peak_bytes,
                            .actual_peak_bytes = statistics.actual_peak_bytes,
                            .reserved_bytes = statistics.reserved_bytes,
                            .task_sink = config_.task_sink,
                            .base_address = "<pointer>"};
    return {{"blocks", blocks},
            {"used_at_end", statistics.used_bytes},
            {"used_peak", statistics.used_peak_bytes},
            {"actual_peak", statistics.actual_peak_bytes},
            {"reserved_total", statistics.reserved_bytes},
            {"report_lines", PeakReportLines(report)}};
  }

  [[nodiscard]] std::int64_t ms_used_bytes() const { return device_.ms_used_bytes; }

 private:
  json Alloc(const json& op) {
    const auto allocation =
        pool_.Allocate(op.at(2), op.at(3) ? PoolKind::kPersistent : PoolKind::kCommon, op.at(4));
    if (!allocation) {
      return nullptr;
    }
    address_[op.at(1)] = allocation->address;
    return {{"offset", allocation->address},
            {"size", allocation->bytes},
            {"pool", PoolKindName(allocation->pool)}};
  }

  json AllocContinuous(const json& op) {
    std::vector<std::int64_t> sizes;
    for (const json& member : op.at(2)) {
      sizes.push_back(member.at(1));
    }
    const auto members = pool_.AllocateContinuous(sizes, op.at(1));
    if (members.size() != sizes.size()) {
      return nullptr;
    }
    json offsets = json::array();
    for (std::size_t i = 0; i < members.size(); ++i) {
      address_[op.at(2).at(i).at(0)] = members[i].address;
      offsets.push_back(members[i].address);
    }
    return {{"offsets", offsets}};
  }

  void FreePart(const json& op) {
    std::vector<std::int64_t> freed;
    std::vector<KeptRange> kept;
    for (const json& name : op.at(1)) {
      freed.push_back(address_.at(name));
    }
    for (const json& part : op.at(2)) {
      const std::int64_t address = address_.at(part.at(1)) + part.at(2).get<std::int64_t>();
      kept.push_back(KeptRange{.address = address, .bytes = part.at(3)});
      address_[part.at(0)] = address;
    }
    pool_.FreePart(freed, kept);
  }

  DeviceMemory device_;
  PoolConfig config_;
  MemoryPool pool_;
  std::map<std::string, std::int64_t> address_;
};

TEST(MemoryPoolVectors, EveryRecordedCaseIsReproduced) {
  const json vectors = ReadVectors("memory_pool.json");
  ASSERT_TRUE(vectors.is_object());
  ASSERT_FALSE(vectors.at("cases").empty());
  for (const json& vector_case : vectors.at("cases")) {
    SCOPED_TRACE(vector_case.at("name").get<std::string>());
    Replay replay(vector_case.at("config"));
    EXPECT_EQ(replay.ms_used_bytes(), vector_case.at("ms_used"));
    const json& ops = vector_case.at("ops");
    ASSERT_EQ(ops.size(), vector_case.at("results").size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
      ASSERT_EQ(replay.Apply(ops[i]), vector_case.at("results")[i]) << "operation " << i << ops[i];
    }
    EXPECT_EQ(replay.Final(), vector_case.at("final"));
  }
}

}  // namespace
}  // namespace drydock::sim
