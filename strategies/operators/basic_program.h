#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "strategies/graph/kernel_graph.h"

namespace drydock::strategies {

struct BasicFacts;

/// What an operation of a fused kernel reads.
struct BasicValue {
  enum class Source : std::uint8_t {
    kOperand,  ///< Operand `index` of the fused kernel.
    kResult,   ///< What operation `index` makes.
    kNumber,   ///< A number that stands in the kernel itself.
  };
  Source source = Source::kNumber;
  std::int32_t index = 0;
  double number = 0.0;   ///< Not a number: one whose value is not known here.
  TensorType type = {};  ///< Of a number.
  friend bool operator==(const BasicValue&, const BasicValue&) = default;
};

/// One operation of a fused kernel, with one result.
struct BasicOp {
  const BasicFacts* facts = nullptr;
  std::vector<BasicValue> inputs = {};
  TensorType type = {};
  KernelId from = kNoKernel;  ///< The kernel it was before it became part of another one.
};

/// What a fused kernel does, operation by operation; operands come before what reads them.
///
/// Example, the mean of squares of one operand: %0 = Mul(in0, in0); %1 = ReduceSum(%0);
/// %2 = RealDiv(%1, 32768); results: %2.
struct BasicProgram {
  std::vector<TensorType> operands = {};
  std::vector<BasicOp> ops = {};
  std::vector<BasicValue> results = {};

  [[nodiscard]] const TensorType& TypeOf(const BasicValue& value) const;
};

/// Leaves only what results need, in the order of a walk from the results, first operands first.
/// Per operand that is left: which one it was.
std::vector<std::size_t> Tidy(BasicProgram& program);

/// Which types a kernel must have to be part of a fused one.
enum class FusedTypes : std::uint8_t {
  kFloats,         ///< All of one floating-point type.
  kFloatsOrInt32,  ///< Or 32-bit integers.
  kMixed,          ///< Of floating-point types that may differ, or all 32-bit integers.
  kFirst,          ///< The first operand and the result alike, floating point.
  kFirstOrInt32,   ///< Or 32-bit integers.
  kCompared,       ///< The first operand is floating point or a 32-bit integer.
  kTested,         ///< The first operand is floating point.
  kConverted,      ///< Any two of floating point, 32-bit integers and truth values.
  kChosen,         ///< A truth value, and all else of one floating-point type.
  kMoved,          ///< float16 or float32.
};

/// How a result depends on what is read: what may be one kernel follows from that. In order.
enum class BasicPattern : std::uint8_t {
  kVirtual,      ///< Says where another result is to be written.
  kReshape,      ///< The same elements in another shape.
  kElementwise,  ///< Element by element.
  kBroadcast,    ///< Elements are repeated.
  kReduce,       ///< Elements are summed.
  kOpaque,
};

/// What stands for an operation of a fused kernel: another operation, or a value if `op` is empty.
struct BasicRewrite {
  std::optional<BasicOp> op = {};
  BasicValue value = {};
};

class BasicBuilder;
using BasicSimplifyFn = std::optional<BasicRewrite> (*)(const BasicProgram&, const BasicOp&);
using BasicNumberFn = double (*)(const std::vector<BasicValue>& numbers);
/// Makes the results of a kernel; none: it stays as it is.
using ExpandFn = std::vector<BasicValue> (*)(BasicBuilder&);

/// What fusing kernels (jit_level O1) needs to know of a kernel; entries in
/// strategies/rules/fusion.
struct BasicFacts {
  std::string_view kernel = {};
  /// Leading operands that are tensors, of a kernel that may be part of a fused one; else 0.
  std::int32_t tensors = 0;
  FusedTypes types = FusedTypes::kFloats;
  BasicPattern pattern = BasicPattern::kElementwise;
  /// If nothing was fused with it, it stays the kernel that it was.
  bool stays_alone = false;
  /// A kernel of its own where it is the only one of its group.
  bool never_alone = false;
  /// Its result is operand 0, written in place.
  bool writes = false;
  BasicNumberFn number = nullptr;  ///< Of numbers; null: one that is not known here.
  BasicSimplifyFn simplify = nullptr;
  ExpandFn expand = nullptr;  ///< The operations that it is taken apart into.
  /// Operands from this one on are constants of its own wherever it runs, whatever equals them; 0:
  /// they are shared.
  std::int32_t own_from = 0;
  /// Operand that waits for the state of memory in its stead when it is taken apart, -1 = none.
  std::int32_t waits_with = -1;

  const BasicFacts* next = nullptr;  ///< Registration list; set by BasicRegistrar.
};

struct BasicRegistrar {
  explicit BasicRegistrar(BasicFacts& facts);
};

/// Defines what is known of a kernel for fusion.
#define DRYDOCK_BASIC(id, ...)                                                              \
  /* The registration list runs through the entries. */                                     \
  ::drydock::strategies::BasicFacts basic_##id /* NOLINT */ = {.kernel = #id, __VA_ARGS__}; \
  const ::drydock::strategies::BasicRegistrar basic_registrar_##id(basic_##id)

/// Null if nothing is known, so that the kernel is never part of a fused one.
[[nodiscard]] const BasicFacts* FindBasic(std::string_view kernel);

/// The entry of a pattern that one entry has.
[[nodiscard]] const BasicFacts* OnlyBasic(BasicPattern pattern);

/// Takes a kernel apart.
class BasicBuilder {
 public:
  /// `operands` are numbers and operands of `program`, one for each operand of the kernel;
  /// `results` the types of its results.
  BasicBuilder(BasicProgram& program, std::vector<BasicValue> operands,
               std::vector<TensorType> results)
      : program_(program), operands_(std::move(operands)), results_(std::move(results)) {}

  [[nodiscard]] std::size_t size() const { return operands_.size(); }
  [[nodiscard]] const BasicValue& in(std::size_t index) const { return operands_[index]; }
  [[nodiscard]] const TensorType& result(std::size_t index = 0) const { return results_[index]; }
  [[nodiscard]] const TensorType& TypeOf(const BasicValue& value) const {
    return program_.TypeOf(value);
  }
  [[nodiscard]] BasicValue Op(std::string_view name, std::vector<BasicValue> inputs,
                              TensorType type);

 private:
  BasicProgram& program_;
  std::vector<BasicValue> operands_;
  std::vector<TensorType> results_;
};

}  // namespace drydock::strategies
