#include "strategies/passes/schedule/simplify_basic.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "strategies/operators/known_ops.h"

/// What a fused kernel need not do.
///
/// Operations whose operands are all numbers are numbers; entries tell what is simpler
/// (BasicFacts::simplify). What is found first is replaced, from the last operation on, until
/// nothing is found.
///
/// Example: 1 - beta of an optimizer is a number then, and the update has it inside. Where other
/// kernels read the difference it is made by an operation that does nothing else.
///
/// Source: mindspore/ccsrc/backend/common/graph_kernel/core/arithmetic_simplify.cc,
/// raise_reduction_precision.cc.
namespace drydock::strategies {
namespace {

using Source = BasicValue::Source;

/// The operation itself is left without operands, and goes with the next tidying.
void PutInstead(BasicProgram& program, std::size_t op, const BasicValue& value) {
  const auto replace = [&](BasicValue& read) {
    if (read.source == Source::kResult && read.index == static_cast<std::int32_t>(op)) {
      read = value;
    }
  };
  for (BasicOp& other : program.ops) {
    std::ranges::for_each(other.inputs, replace);
  }
  std::ranges::for_each(program.results, replace);
  program.ops[op].inputs.clear();
}

bool ComputeNumbers(BasicProgram& program) {
  for (std::size_t n = 0; n < program.ops.size(); ++n) {
    const BasicOp& op = program.ops[n];
    const bool numbers = std::ranges::all_of(
        op.inputs, [](const BasicValue& input) { return input.source == Source::kNumber; });
    if (!numbers || op.inputs.empty() || op.facts->pattern == BasicPattern::kBroadcast ||
        op.facts->writes) {
      continue;
    }
    const double number = op.facts->number != nullptr ? op.facts->number(op.inputs)
                                                      : std::numeric_limits<double>::quiet_NaN();
    PutInstead(program, n, {.number = number, .type = op.type});
    return true;
  }
  return false;
}

bool SimplifyOne(BasicProgram& program) {
  for (std::size_t n = program.ops.size(); n-- > 0;) {
    const BasicOp& op = program.ops[n];
    if (op.facts->simplify == nullptr || op.inputs.empty()) {
      continue;
    }
    std::optional<BasicRewrite> rewrite = op.facts->simplify(program, op);
    if (!rewrite) {
      continue;
    }
    if (rewrite->op) {
      program.ops[n] = *std::move(rewrite->op);
    } else {
      PutInstead(program, n, rewrite->value);
    }
    return true;
  }
  return false;
}

/// A result is made by an operation, also if it is a number or an operand.
void MakeResults(BasicProgram& program, const std::vector<TensorType>& types) {
  for (std::size_t i = 0; i < program.results.size(); ++i) {
    BasicValue& result = program.results[i];
    if (result.source == Source::kResult) {
      continue;
    }
    const BasicPattern pattern =
        result.source == Source::kNumber ? BasicPattern::kBroadcast : BasicPattern::kReshape;
    program.ops.push_back({.facts = OnlyBasic(pattern), .inputs = {result}, .type = types[i]});
    result = {.source = Source::kResult,
              .index = static_cast<std::int32_t>(program.ops.size()) - 1};
  }
}

/// Sums of float16 are sums of float32, converted before and behind.
void RaiseSums(BasicProgram& program) {
  const BasicFacts* const cast = FindBasic(ops::kCast);
  const auto result_of = [](std::size_t op) {
    return BasicValue{.source = Source::kResult, .index = static_cast<std::int32_t>(op)};
  };
  const std::size_t count = program.ops.size();
  for (std::size_t n = 0; n < count; ++n) {
    if (program.ops[n].facts->pattern != BasicPattern::kReduce || program.ops[n].inputs.empty() ||
        program.TypeOf(program.ops[n].inputs.front()).dtype != DType::kFloat16) {
      continue;
    }
    const BasicValue sum = result_of(n);
    const BasicValue raised = result_of(program.ops.size());
    const BasicValue lowered = result_of(program.ops.size() + 1);
    BasicOp before{.facts = cast, .inputs = {program.ops[n].inputs.front()}};
    before.type = program.TypeOf(before.inputs.front());
    before.type.dtype = DType::kFloat32;
    const BasicOp behind{.facts = cast, .inputs = {sum}, .type = program.ops[n].type};
    std::ranges::replace(program.results, sum, lowered);
    for (std::size_t user = 0; user < program.ops.size(); ++user) {
      BasicOp& op = program.ops[user];
      if (std::ranges::find(op.inputs, sum) == op.inputs.end()) {
        continue;
      }
      if (op.facts == cast && op.type.dtype == DType::kFloat32) {
        PutInstead(program, user, sum);
      } else {
        std::ranges::replace(op.inputs, sum, lowered);
      }
    }
    program.ops[n].inputs.front() = raised;
    program.ops[n].type.dtype = DType::kFloat32;
    program.ops.push_back(std::move(before));
    program.ops.push_back(behind);
  }
}

}  // namespace

void SimplifyBasic(BasicProgram& program) {
  std::vector<TensorType> types;
  for (const BasicValue& result : program.results) {
    types.push_back(program.TypeOf(result));
  }
  while (ComputeNumbers(program) || SimplifyOne(program)) {
  }
  MakeResults(program, types);
  RaiseSums(program);
}

}  // namespace drydock::strategies
