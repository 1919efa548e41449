#include "strategies/operators/basic_program.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/result.h"

/// Operations of fused kernels.
///
/// A fused kernel is a small program of its own. Most kernels are one operation of it under their
/// own name; some (GeLU, Adam) are taken apart into several when fusion looks at them.
/// Source: mindspore/ccsrc/backend/common/graph_kernel/model.
namespace drydock::strategies {
namespace {

/// Head of the list that entries link themselves into before main(); constant afterwards.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see above
constinit const BasicFacts* registered = nullptr;

using Basics = std::map<std::string_view, const BasicFacts*>;

Basics MakeBasics() {
  Basics table;
  for (const BasicFacts* facts = registered; facts != nullptr; facts = facts->next) {
    const bool inserted = table.emplace(facts->kernel, facts).second;
    DRYDOCK_CHECK(inserted);
  }
  return table;
}

const Basics& TheBasics() {
  static const Basics kBasics = MakeBasics();
  return kBasics;
}

class Tidier {
 public:
  explicit Tidier(BasicProgram& program)
      : program_(program), op_(program.ops.size(), -1), needed_(program.operands.size(), false) {}

  std::vector<std::size_t> Run() {
    for (const BasicValue& result : program_.results) {
      Visit(result);
    }
    std::vector<std::size_t> left;
    std::vector<TensorType> operands;
    std::vector<std::int32_t> moved(needed_.size(), -1);
    for (std::size_t i = 0; i < needed_.size(); ++i) {
      if (needed_[i]) {
        moved[i] = static_cast<std::int32_t>(left.size());
        left.push_back(i);
        operands.push_back(std::move(program_.operands[i]));
      }
    }
    const auto rename = [&](BasicValue& value) {
      if (value.source == BasicValue::Source::kOperand) {
        value.index = moved[static_cast<std::size_t>(value.index)];
      } else if (value.source == BasicValue::Source::kResult) {
        value.index = op_[static_cast<std::size_t>(value.index)];
      }
    };
    for (BasicOp& op : ordered_) {
      std::ranges::for_each(op.inputs, rename);
    }
    std::ranges::for_each(program_.results, rename);
    program_.operands = std::move(operands);
    program_.ops = std::move(ordered_);
    return left;
  }

 private:
  void Visit(const BasicValue& value) {
    if (value.source == BasicValue::Source::kOperand) {
      needed_[static_cast<std::size_t>(value.index)] = true;
      return;
    }
    if (value.source == BasicValue::Source::kNumber) {
      return;
    }
    struct Place {
      std::size_t op = 0;
      std::size_t next = 0;  ///< Operand to look at.
    };
    std::vector<Place> path = {{.op = static_cast<std::size_t>(value.index)}};
    while (!path.empty()) {
      Place& at = path.back();
      BasicOp& op = program_.ops[at.op];
      if (op_[at.op] >= 0) {
        path.pop_back();
      } else if (at.next < op.inputs.size()) {
        const BasicValue& input = op.inputs[at.next++];
        if (input.source == BasicValue::Source::kOperand) {
          needed_[static_cast<std::size_t>(input.index)] = true;
        } else if (input.source == BasicValue::Source::kResult) {
          path.push_back({.op = static_cast<std::size_t>(input.index)});
        }
      } else {
        op_[at.op] = static_cast<std::int32_t>(ordered_.size());
        ordered_.push_back(std::move(op));
        path.pop_back();
      }
    }
  }

  BasicProgram& program_;
  std::vector<std::int32_t> op_;  ///< Per operation: its new number.
  std::vector<bool> needed_;      ///< Per operand.
  std::vector<BasicOp> ordered_ = {};
};

}  // namespace

BasicRegistrar::BasicRegistrar(BasicFacts& facts) {
  facts.next = registered;
  registered = &facts;
}

const BasicFacts* FindBasic(std::string_view kernel) {
  const auto it = TheBasics().find(kernel);
  return it == TheBasics().end() ? nullptr : it->second;
}

const BasicFacts* OnlyBasic(BasicPattern pattern) {
  for (const auto& [name, facts] : TheBasics()) {
    if (facts->pattern == pattern) {
      return facts;
    }
  }
  return nullptr;
}

const TensorType& BasicProgram::TypeOf(const BasicValue& value) const {
  switch (value.source) {
    case BasicValue::Source::kOperand:
      return operands[static_cast<std::size_t>(value.index)];
    case BasicValue::Source::kResult:
      return ops[static_cast<std::size_t>(value.index)].type;
    case BasicValue::Source::kNumber:
      break;
  }
  return value.type;
}

std::vector<std::size_t> Tidy(BasicProgram& program) {
  return Tidier(program).Run();
}

BasicValue BasicBuilder::Op(std::string_view name, std::vector<BasicValue> inputs,
                            TensorType type) {
  program_.ops.push_back(
      {.facts = FindBasic(name), .inputs = std::move(inputs), .type = std::move(type)});
  return {.source = BasicValue::Source::kResult,
          .index = static_cast<std::int32_t>(program_.ops.size()) - 1};
}

}  // namespace drydock::strategies
