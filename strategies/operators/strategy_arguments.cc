#include "strategies/operators/strategy_arguments.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "strategies/operators/op_signature.h"

namespace drydock::strategies {
namespace {

/// What one entry of a strategy with an entry per argument may stand for.
enum class Position : std::uint8_t { kTensor, kAbsent, kSetting };

/// The arguments of a call in order; every member of a tuple is one. Tuples follow each other, so
/// that where one ends does not matter. Settings behind the last tensor are left out.
std::vector<Position> PositionsOf(const OpSignature& signature, std::span<const ValueId> operands) {
  std::size_t singles = 0;
  for (const SignatureArgument& argument : signature.call) {
    singles +=
        argument.kind == ArgumentKind::kTensor || argument.kind == ArgumentKind::kOptionalTensor
            ? 1
            : 0;
  }
  std::size_t members = operands.size() > singles ? operands.size() - singles : 0;
  std::vector<Position> positions;
  std::size_t next = 0;
  const auto add_tensor = [&] {
    const bool given = next < operands.size() && operands[next] != kNoValue;
    positions.push_back(given ? Position::kTensor : Position::kAbsent);
    ++next;
  };
  for (const SignatureArgument& argument : signature.call) {
    if (argument.kind == ArgumentKind::kAttribute) {
      positions.push_back(Position::kSetting);
    } else if (argument.kind == ArgumentKind::kTensorList) {
      for (; members > 0; --members) {
        add_tensor();
      }
    } else {
      add_tensor();
    }
  }
  const auto last = std::ranges::find(positions.rbegin(), positions.rend(), Position::kTensor);
  positions.erase(std::remove(last.base(), positions.end(), Position::kSetting), positions.end());
  return positions;
}

bool CutsNothing(const std::vector<std::int64_t>& entry) {
  return std::ranges::all_of(entry, [](std::int64_t cut) { return cut == 1; });
}

/// Tensors' entries; nullopt if the strategy does not run along the positions.
std::optional<Strategy> Along(const std::vector<Position>& positions, const Strategy& strategy,
                              bool absent_have_entries) {
  Strategy kept;
  std::size_t next = 0;
  for (const Position position : positions) {
    if (position == Position::kAbsent && !absent_have_entries) {
      continue;
    }
    if (next == strategy.size()) {
      if (position == Position::kTensor) {
        return std::nullopt;
      }
      continue;
    }
    if (position == Position::kTensor) {
      kept.push_back(strategy[next]);
    } else if (!CutsNothing(strategy[next])) {
      return std::nullopt;
    }
    ++next;
  }
  return next == strategy.size() ? std::optional<Strategy>(std::move(kept)) : std::nullopt;
}

}  // namespace

Strategy StrategyOfTensors(const OpEntry& entry, std::span<const ValueId> operands,
                           const Strategy& strategy) {
  const auto given =
      operands.size() - static_cast<std::size_t>(std::ranges::count(operands, kNoValue));
  if (strategy.size() <= given) {
    return strategy;
  }
  const std::vector<Position> positions = PositionsOf(ParseSignature(entry.signature), operands);
  for (const bool absent_have_entries : {false, true}) {
    if (std::optional<Strategy> kept = Along(positions, strategy, absent_have_entries)) {
      return *std::move(kept);
    }
  }
  return strategy;
}

}  // namespace drydock::strategies
