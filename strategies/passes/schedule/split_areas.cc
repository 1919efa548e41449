#include "strategies/passes/schedule/split_areas.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

/// What of a fused kernel can really be one kernel.
///
/// Each operation begins as an area of its own. Pattern after pattern, areas that are next to each
/// other become one: what says where a result goes with what makes it, element-wise operations with
/// those of the same size, sums with what they sum (if that is at most ten operations), small areas
/// with all of their users; never if another area would then have to run in the middle. What is
/// left are the kernels.
///
/// Example: the gradient of a GeLU (23 operations) and the sum of it over the batch were grouped.
/// They share a tensor, but a sum takes at most ten operations in, so they are two kernels again.
///
/// Source: mindspore/ccsrc/backend/common/graph_kernel (split_model/split_model.cc, area.cc,
/// fuse_pattern.cc, adapter/split_model_ascend.cc).
namespace drydock::strategies {
namespace {

constexpr std::size_t kMostBelowSum = 10;
constexpr std::size_t kMostIntoUsers = 6;
constexpr std::size_t kMostInKernel = 200;

enum class Edge : std::uint8_t { kSame, kRepeated };

struct AreaInput {
  std::size_t area = 0;
  Edge edge = Edge::kSame;
};

struct Area {
  BasicPattern pattern = BasicPattern::kElementwise;
  std::vector<std::size_t> ops = {};   ///< The first one says what the area is; none: merged.
  std::vector<AreaInput> inputs = {};  ///< By number of the area, each once.
  std::set<std::size_t> users = {};
  bool output = false;  ///< Results of the kernel are among its own.
  bool basic = false;
};

/// Which areas can be reached from which, along the way of the data.
class Reach {
 public:
  explicit Reach(std::size_t count) : rows_(count, std::vector<bool>(count, false)) {
    for (std::size_t i = 0; i < count; ++i) {
      rows_[i][i] = true;
    }
  }
  [[nodiscard]] bool Has(std::size_t from, std::size_t to) const { return rows_[from][to]; }
  /// Users are linked before what they read.
  void Link(std::size_t from, std::size_t to) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[to][i]) {
        rows_[from][i] = true;
      }
    }
  }
  /// `other` becomes a part of `target`.
  void Merge(std::size_t target, std::size_t other) {
    for (std::size_t before = 0; before < rows_.size(); ++before) {
      if (!Has(before, target) && !Has(before, other)) {
        continue;
      }
      for (std::size_t behind = 0; behind < rows_.size(); ++behind) {
        if (Has(target, behind) || Has(other, behind)) {
          rows_[before][behind] = true;
        }
      }
    }
  }

 private:
  std::vector<std::vector<bool>> rows_;
};

class Splitter {
 public:
  explicit Splitter(const BasicProgram& program)
      : program_(program), areas_(program.ops.size()), reach_(program.ops.size()) {
    AlignShapes();
    MakeAreas();
  }

  std::vector<BasicArea> Run() {
    using Match = bool (Splitter::*)(std::size_t);
    for (const Match match : {&Splitter::Virtual, &Splitter::Reshaped, &Splitter::ElementwiseDepth,
                              &Splitter::ElementwiseWidth, &Splitter::SumDepth, &Splitter::SumWidth,
                              &Splitter::UsersDepth, &Splitter::UsersWidth}) {
      for (std::size_t at = 0; at < areas_.size();) {
        merged_.clear();
        forward_ = true;
        if (!areas_[at].ops.empty() && (this->*match)(at)) {
          Limit(at);
          if (!merged_.empty()) {
            Merge(at);
            continue;
          }
        }
        ++at;
      }
    }
    return Result();
  }

 private:
  // ---- The beginning

  /// Operands of element-wise operations and sums get leading ones.
  void AlignShapes() {
    for (const TensorType& type : program_.operands) {
      operands_.push_back(type.shape.empty() ? Shape{1} : type.shape);
    }
    for (const BasicOp& op : program_.ops) {
      Shape shape = op.type.shape;
      const BasicPattern pattern = op.facts->pattern;
      if (pattern < BasicPattern::kElementwise || pattern > BasicPattern::kReduce) {
        shapes_.push_back(shape.empty() ? Shape{1} : shape);
        continue;
      }
      std::size_t rank = shape.size();
      for (const BasicValue& input : op.inputs) {
        rank = std::max(rank, ShapeOf(input).size());
      }
      shape.insert(shape.begin(), rank - shape.size(), 1);
      shapes_.push_back(std::move(shape));
    }
  }

  [[nodiscard]] const Shape& ShapeOf(const BasicValue& value) const {
    const auto index = static_cast<std::size_t>(value.index);
    switch (value.source) {
      case BasicValue::Source::kOperand:
        return operands_[index];
      case BasicValue::Source::kResult:
        return shapes_[index];
      case BasicValue::Source::kNumber:
        break;
    }
    return value.type.shape;
  }

  /// Leading ones do not count.
  [[nodiscard]] static bool SameShape(const Shape& a, const Shape& b) {
    const Shape& longer = a.size() < b.size() ? b : a;
    const Shape& shorter = a.size() < b.size() ? a : b;
    const auto more = static_cast<std::ptrdiff_t>(longer.size() - shorter.size());
    return std::all_of(longer.begin(), longer.begin() + more,
                       [](std::int64_t extent) { return extent == 1; }) &&
           std::equal(shorter.begin(), shorter.end(), longer.begin() + more);
  }

  [[nodiscard]] Edge EdgeOf(std::size_t op, const BasicValue& input) const {
    const BasicOp& node = program_.ops[op];
    if (node.facts->pattern != BasicPattern::kElementwise) {
      return node.facts->pattern == BasicPattern::kBroadcast ? Edge::kRepeated : Edge::kSame;
    }
    return node.inputs.size() == 1 || SameShape(shapes_[op], ShapeOf(input)) ? Edge::kSame
                                                                             : Edge::kRepeated;
  }

  void MakeAreas() {
    for (std::size_t n = 0; n < areas_.size(); ++n) {
      const BasicOp& op = program_.ops[n];
      Area& area = areas_[n];
      area.pattern = op.facts->pattern;
      area.ops = {n};
      area.basic = op.facts->stays_alone;
      std::size_t numbers = 0;
      bool repeats = false;
      for (const BasicValue& input : op.inputs) {
        const Edge edge = EdgeOf(n, input);
        repeats = repeats || edge == Edge::kRepeated;
        numbers += input.source == BasicValue::Source::kNumber ? 1 : 0;
        if (input.source == BasicValue::Source::kResult) {
          area.inputs.push_back({.area = static_cast<std::size_t>(input.index), .edge = edge});
        }
      }
      if (area.pattern == BasicPattern::kElementwise && repeats) {
        if (numbers + 1 == op.inputs.size()) {
          if (!area.inputs.empty()) {
            area.inputs.front().edge = Edge::kSame;
          }
        } else {
          area.pattern = BasicPattern::kBroadcast;
        }
      }
      TidyInputs(n);
    }
    for (const BasicValue& result : program_.results) {
      areas_[static_cast<std::size_t>(result.index)].output = true;
    }
    for (std::size_t n = areas_.size(); n-- > 0;) {
      for (const std::size_t user : areas_[n].users) {
        reach_.Link(n, user);
      }
    }
  }

  /// Each area once, the stronger edge of several; users follow.
  void TidyInputs(std::size_t n) {
    std::vector<AreaInput>& inputs = areas_[n].inputs;
    std::ranges::sort(inputs, [](const AreaInput& a, const AreaInput& b) {
      return a.area != b.area ? a.area < b.area : a.edge > b.edge;
    });
    inputs.erase(
        std::unique(inputs.begin(), inputs.end(),
                    [](const AreaInput& a, const AreaInput& b) { return a.area == b.area; }),
        inputs.end());
    for (const AreaInput& input : inputs) {
      areas_[input.area].users.insert(n);
    }
  }

  // ---- Patterns: fill merged_

  [[nodiscard]] bool IsElementwise(std::size_t at) const {
    return areas_[at].pattern == BasicPattern::kElementwise ||
           areas_[at].pattern == BasicPattern::kBroadcast;
  }
  [[nodiscard]] std::int64_t SizeOf(std::size_t at) const {
    return ElementCount(shapes_[areas_[at].ops.front()]).value_or(0);
  }
  /// Whether an area would have to run between the two.
  [[nodiscard]] bool Circle(std::size_t input, std::size_t user) const {
    return std::ranges::any_of(areas_[user].inputs, [&](const AreaInput& other) {
      return other.area != input && reach_.Has(input, other.area);
    });
  }
  [[nodiscard]] Edge EdgeBetween(std::size_t input, std::size_t user) const {
    for (const AreaInput& item : areas_[user].inputs) {
      if (item.area == input) {
        return item.edge;
      }
    }
    return Edge::kSame;
  }

  bool Virtual(std::size_t at) {
    if (areas_[at].pattern != BasicPattern::kVirtual) {
      return false;
    }
    for (const AreaInput& input : areas_[at].inputs) {
      merged_.push_back(input.area);
    }
    return true;
  }

  /// With the neighbour that does the least.
  bool Reshaped(std::size_t at) {
    if (areas_[at].pattern != BasicPattern::kReshape) {
      return false;
    }
    const auto keep = [&](std::size_t area, bool forward) {
      if (areas_[area].pattern <= BasicPattern::kBroadcast &&
          (merged_.empty() || areas_[area].pattern < areas_[merged_.front()].pattern)) {
        merged_ = {area};
        forward_ = forward;
      }
    };
    for (const std::size_t user : areas_[at].users) {
      if (!Circle(at, user)) {
        keep(user, false);
      }
    }
    for (const AreaInput& input : areas_[at].inputs) {
      if (!Circle(input.area, at)) {
        keep(input.area, true);
      }
    }
    return !merged_.empty();
  }

  bool Elementwise(std::size_t at, bool depth) {
    if (!IsElementwise(at) || (depth && areas_[at].inputs.size() != 1)) {
      return false;
    }
    for (const auto& [input, edge] : areas_[at].inputs) {
      if ((depth && areas_[input].users.size() != 1) ||
          areas_[input].pattern > BasicPattern::kBroadcast || edge != Edge::kSame ||
          (!depth && Circle(input, at)) || SizeOf(input) != SizeOf(at)) {
        continue;
      }
      merged_.push_back(input);
    }
    return !merged_.empty();
  }
  bool ElementwiseDepth(std::size_t at) { return Elementwise(at, true); }
  bool ElementwiseWidth(std::size_t at) { return Elementwise(at, false); }

  bool Sum(std::size_t at, bool depth) {
    if (areas_[at].pattern != BasicPattern::kReduce || (depth && areas_[at].inputs.size() != 1)) {
      return false;
    }
    for (const auto& [input, edge] : areas_[at].inputs) {
      const Area& area = areas_[input];
      if ((depth && area.users.size() != 1) || area.ops.size() > kMostBelowSum ||
          area.pattern > BasicPattern::kBroadcast ||
          (edge != Edge::kSame && (area.users.size() != 1 || area.output)) ||
          (!depth && Circle(input, at))) {
        continue;
      }
      merged_.push_back(input);
    }
    return !merged_.empty();
  }
  bool SumDepth(std::size_t at) { return Sum(at, true); }
  bool SumWidth(std::size_t at) { return Sum(at, false); }

  /// Into all of its users, or none.
  bool Users(std::size_t at, bool depth) {
    const Area& area = areas_[at];
    if (!IsElementwise(at) || area.output || (depth && area.users.size() > 1) ||
        area.ops.size() > kMostIntoUsers) {
      return false;
    }
    for (const std::size_t user : area.users) {
      const BasicPattern pattern = areas_[user].pattern;
      if ((depth && areas_[user].inputs.size() != 1) || pattern > BasicPattern::kReduce) {
        return false;
      }
      if (!depth) {
        if (!merged_.empty() && SizeOf(merged_.front()) != SizeOf(user)) {
          return false;
        }
        if (Circle(at, user)) {
          continue;
        }
      }
      if (pattern == BasicPattern::kReduce &&
          (area.pattern != BasicPattern::kElementwise || EdgeBetween(at, user) != Edge::kSame)) {
        return false;
      }
      merged_.push_back(user);
    }
    forward_ = false;
    return merged_.size() == area.users.size();
  }
  bool UsersDepth(std::size_t at) { return Users(at, true); }
  bool UsersWidth(std::size_t at) { return Users(at, false); }

  // ---- Merging

  /// The smaller ones first, until the kernel is full.
  void Limit(std::size_t at) {
    std::size_t size = areas_[at].ops.size();
    for (const std::size_t area : merged_) {
      size += areas_[area].ops.size();
    }
    if (size <= kMostInKernel) {
      return;
    }
    std::ranges::stable_sort(merged_, {},
                             [this](std::size_t area) { return areas_[area].ops.size(); });
    size = areas_[at].ops.size();
    std::size_t count = 0;
    while (count < merged_.size() && size + areas_[merged_[count]].ops.size() <= kMostInKernel) {
      size += areas_[merged_[count++]].ops.size();
    }
    merged_.resize(count);
  }

  void Merge(std::size_t at) {
    std::size_t target = at;
    for (std::size_t area : merged_) {
      if (!forward_) {
        std::swap(target, area);
      }
      TakeIn(target, area);
      reach_.Merge(target, area);
    }
    if (areas_[target].pattern > BasicPattern::kReshape) {
      areas_[target].basic = false;
    }
  }

  /// `target` takes in what it reads.
  void TakeIn(std::size_t target, std::size_t input) {
    Area& to = areas_[target];
    Area& from = areas_[input];
    const Edge edge = EdgeBetween(input, target);
    to.output = to.output || from.output;
    if (to.pattern < from.pattern) {
      to.ops.swap(from.ops);
    }
    to.ops.insert(to.ops.end(), from.ops.begin(), from.ops.end());
    to.pattern = std::max(to.pattern, from.pattern);
    if (to.pattern == BasicPattern::kElementwise && edge == Edge::kRepeated) {
      to.pattern = BasicPattern::kBroadcast;
    }
    std::erase_if(to.inputs, [input](const AreaInput& item) { return item.area == input; });
    to.inputs.insert(to.inputs.end(), from.inputs.begin(), from.inputs.end());
    from.users.erase(target);
    for (const AreaInput& item : from.inputs) {
      areas_[item.area].users.erase(input);
    }
    TidyInputs(target);
    for (const std::size_t user : from.users) {
      for (AreaInput& item : areas_[user].inputs) {
        item.area = item.area == input ? target : item.area;
      }
      TidyInputs(user);
    }
    from = Area{};
  }

  [[nodiscard]] std::vector<BasicArea> Result() const {
    std::vector<BasicArea> result;
    for (const Area& area : areas_) {
      if (!area.ops.empty()) {
        result.push_back({.ops = area.ops, .basic = area.basic});
        std::ranges::sort(result.back().ops);
      }
    }
    return result;
  }

  const BasicProgram& program_;
  std::vector<Shape> operands_ = {};
  std::vector<Shape> shapes_ = {};
  std::vector<Area> areas_;
  Reach reach_;
  std::vector<std::size_t> merged_ = {};
  bool forward_ = true;  ///< The area takes in what it reads; else its users take it in.
};

}  // namespace

std::vector<BasicArea> SplitAreas(const BasicProgram& program) {
  return Splitter(program).Run();
}

}  // namespace drydock::strategies
