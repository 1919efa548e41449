// A trace is a stream of messages, each preceded by its length as a varint: first the metadata
// (version), then a node per kernel. Replayers look attributes up by name and read one member of
// the value each; a value in another member counts as 0 without a word. So which member an
// attribute has is part of the format: is_cpu_op is a bool, comm_type and comm_size are int64,
// comm_src, comm_dst, comm_tag int32, pg_name a string (that must be a number).
#include "reports/chakra.h"

#include <array>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

#include "sim/fleet/tensor_facts.h"
#include "strategies/graph/attr.h"
#include "strategies/graph/dtype.h"
#include "strategies/operators/known_ops.h"
#include "strategies/operators/op_entry.h"

namespace drydock::reports {
namespace {

using strategies::CollectivePattern;
using strategies::KernelId;
using strategies::KernelNode;
using strategies::LocalProgram;
using strategies::PointToPoint;

enum class NodeType : std::uint8_t { kCompute = 4, kSend = 5, kReceive = 6, kCollective = 7 };
enum class Member : std::uint32_t { kInt32 = 7, kInt64 = 9, kBool = 27, kText = 29 };

/// Fields of one message.
class Fields {
 public:
  void Number(std::uint32_t field, std::uint64_t value) {
    Varint(std::uint64_t{field} << 3U);
    Varint(value);
  }
  void Bytes(std::uint32_t field, std::string_view value) {
    Varint((std::uint64_t{field} << 3U) | 2U);
    Varint(value.size());
    bytes_ += value;
  }
  void Raw(char byte) { bytes_ += byte; }
  void Varint(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) {
      bytes_ += static_cast<char>((value & 0x7FU) | 0x80U);
    }
    bytes_ += static_cast<char>(value);
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = {};
};

void AddAttribute(Fields& node, std::string_view name, Member member, std::uint64_t value) {
  Fields attribute;
  attribute.Bytes(1, name);
  attribute.Number(static_cast<std::uint32_t>(member), value);
  node.Bytes(10, attribute.bytes());
}

void AddAttribute(Fields& node, std::string_view name, const std::string& value) {
  Fields attribute;
  attribute.Bytes(1, name);
  attribute.Bytes(static_cast<std::uint32_t>(Member::kText), value);
  node.Bytes(10, attribute.bytes());
}

/// CollectiveCommType of the format.
std::uint64_t CollectiveType(CollectivePattern pattern) {
  switch (pattern) {
    case CollectivePattern::kAllReduce:
      return 0;
    case CollectivePattern::kAllGather:
      return 2;
    case CollectivePattern::kBroadcast:
      return 5;
    case CollectivePattern::kAllToAll:
    case CollectivePattern::kNeighbours:
    case CollectivePattern::kMessage:
      return 6;
    case CollectivePattern::kReduceScatter:
      return 7;
  }
  return 0;
}

class ChakraWriter {
 public:
  explicit ChakraWriter(const sim::DryRunResult& result) : result_(result) {}

  std::vector<TraceFile> Run() {
    std::vector<TraceFile> files;
    for (std::size_t c = 0; c < result_.classes.size(); ++c) {
      rank_ = result_.classes[c].ranks.ranges.front().first;
      files.push_back({.name = "chakra." + std::to_string(rank_) + ".et", .bytes = TraceOf(c)});
    }
    files.push_back({.name = "chakra_groups.json", .bytes = GroupsText()});
    return files;
  }

 private:
  std::string TraceOf(std::size_t c) {
    const LocalProgram& program = result_.job.programs[result_.classes[c].program];
    const std::vector<std::string> names = strategies::FullNames(program.local);
    const auto times = TimesOf(result_.classes[c].program);
    Fields metadata;
    metadata.Bytes(1, "drydock.chakra/1");
    Fields trace;
    Append(trace, metadata);
    std::map<std::int32_t, std::uint64_t> last_of_stream;
    for (const strategies::Launch& launch : program.kernels.launches) {
      if (launch.kind != strategies::Launch::Kind::kKernel) {
        continue;
      }
      const auto id = static_cast<std::uint64_t>(launch.kernel);
      const KernelNode& kernel = program.kernels.at(launch.kernel);
      Fields node;
      node.Number(1, id);
      node.Bytes(2, kernel.origin == strategies::kNoNode ? kernel.name.str()
                                                         : names[ToIndex(kernel.origin)]);
      node.Number(3, static_cast<std::uint64_t>(TypeOf(program, kernel)));
      if (const auto before = last_of_stream.find(launch.stream); before != last_of_stream.end()) {
        node.Number(4, before->second);
      }
      last_of_stream[launch.stream] = id;
      for (const std::uint64_t needed : NeededBy(program, launch.kernel)) {
        node.Number(5, needed);
      }
      if (const auto time = times.find(static_cast<std::int32_t>(launch.kernel));
          time != times.end()) {
        node.Number(6, time->second[0]);
        node.Number(7, time->second[1]);
      }
      AddAttributes(node, program, kernel);
      Append(trace, node);
    }
    return trace.bytes();
  }

  /// Kernels whose results a kernel reads, each once: readers strike a node out of the list once
  /// when it is done, and would wait for ever for one that x * x names twice.
  static std::set<std::uint64_t> NeededBy(const LocalProgram& program, KernelId kernel) {
    std::set<std::uint64_t> needed;
    for (const strategies::KernelOperand& operand :
         strategies::TensorsRead(program.kernels, kernel)) {
      if (program.kernels.at(operand.node).kind == strategies::KernelKind::kKernel) {
        needed.insert(static_cast<std::uint64_t>(operand.node));
      }
    }
    return needed;
  }

  static void Append(Fields& trace, const Fields& message) {
    trace.Varint(message.bytes().size());
    for (const char c : message.bytes()) {
      trace.Raw(c);
    }
  }

  static NodeType TypeOf(const LocalProgram& program, const KernelNode& kernel) {
    if (!kernel.communication || kernel.origin == strategies::kNoNode) {
      return NodeType::kCompute;
    }
    switch (strategies::PointToPointOf(program.local.at(kernel.origin))) {
      case PointToPoint::kSends:
        return NodeType::kSend;
      case PointToPoint::kReceives:
        return NodeType::kReceive;
      case PointToPoint::kNone:
        return NodeType::kCollective;
    }
    return NodeType::kCollective;
  }

  void AddAttributes(Fields& node, const LocalProgram& program, const KernelNode& kernel) {
    AddAttribute(node, "is_cpu_op", Member::kBool, 0);
    const NodeType type = TypeOf(program, kernel);
    if (type == NodeType::kCompute) {
      return;
    }
    const strategies::Node& origin = program.local.at(kernel.origin);
    std::uint64_t bytes = 0;
    for (const ValueId value : type == NodeType::kReceive ? origin.outputs : origin.inputs) {
      if (value != strategies::kNoValue) {
        bytes += static_cast<std::uint64_t>(strategies::ByteSize(program.local.at(value).type));
      }
    }
    AddAttribute(node, "comm_size", Member::kInt64, bytes);
    if (type == NodeType::kCollective) {
      const strategies::CollectiveFacts* facts = strategies::CollectiveOf(origin);
      AddAttribute(node, "comm_type", Member::kInt64,
                   facts == nullptr ? 0 : CollectiveType(facts->pattern));
      AddAttribute(node, "comm_priority", Member::kInt32, 0);
      AddAttribute(node, "pg_name", std::to_string(GroupOf(program, *origin.group)));
      return;
    }
    const std::int64_t distance =
        strategies::IntAttr(origin.attrs, strategies::kRankDistance, 0).value_or(0);
    const bool sends = type == NodeType::kSend;
    AddAttribute(node, "comm_src", Member::kInt32,
                 static_cast<std::uint64_t>(sends ? rank_ : rank_ - distance));
    AddAttribute(node, "comm_dst", Member::kInt32,
                 static_cast<std::uint64_t>(sends ? rank_ + distance : rank_));
    AddAttribute(node, "comm_tag", Member::kInt32,
                 static_cast<std::uint64_t>(
                     strategies::IntAttr(origin.attrs, strategies::kTransferTag, 0).value_or(0)));
  }

  std::size_t GroupOf(const LocalProgram& program, const strategies::GroupPattern& pattern) {
    const strategies::GroupPlace place =
        strategies::PlaceIn(pattern, rank_, strategies::StageDevices(program.from->config));
    const std::vector<std::int64_t> ranks =
        strategies::GroupRanks(pattern, place.position, place.begin);
    return groups_.emplace(ranks, groups_.size()).first->second;
  }

  /// Start and duration of kernels in whole microseconds; empty below level 3.
  [[nodiscard]] std::unordered_map<std::int32_t, std::array<std::uint64_t, 2>> TimesOf(
      strategies::ProgramIndex program) const {
    std::unordered_map<std::int32_t, std::array<std::uint64_t, 2>> times;
    if (!result_.time) {
      return times;
    }
    constexpr double kMicro = 1e6;
    const sim::TimeLine& line = *result_.time;
    for (std::size_t c = 0; c < line.plan.classes.size(); ++c) {
      if (line.plan.classes[c].program != program) {
        continue;
      }
      const auto& tasks = line.plan.job.programs[c].tasks;
      for (std::size_t t = 0; t < tasks.size(); ++t) {
        const std::size_t number = static_cast<std::size_t>(line.run.first[c]) + t;
        if (tasks[t].tag >= 0) {
          // Both ends are rounded, so that durations add up to the step.
          const auto begin = static_cast<std::uint64_t>(line.run.start[number] * kMicro);
          const auto end = static_cast<std::uint64_t>(line.run.end[number] * kMicro);
          times[tasks[t].tag] = {begin, end - begin};
        }
      }
    }
    return times;
  }

  [[nodiscard]] std::string GroupsText() const {
    std::string text = "{";
    for (const auto& [ranks, number] : groups_) {
      text += (text.size() == 1 ? "\n  \"" : ",\n  \"") + std::to_string(number) + "\": [";
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
      }
      text += "]";
    }
    return text + "\n}\n";
  }

  const sim::DryRunResult& result_;
  std::int64_t rank_ = 0;
  std::map<std::vector<std::int64_t>, std::size_t> groups_ = {};
};

}  // namespace

std::vector<TraceFile> ChakraTraces(const sim::DryRunResult& result) {
  return ChakraWriter(result).Run();
}

}  // namespace drydock::reports
