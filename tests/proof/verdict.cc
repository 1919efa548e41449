#include <algorithm>
#include <cmath>

#include "tests/proof/proof_step.h"

/// Runs a proof program: sharded against whole, gradients against slopes.
namespace drydock::strategies::proof {
namespace {

/// Elements of each leaf whose slope is measured; a slope costs two runs.
constexpr std::size_t kSlopesPerLeaf = 5;

class SlopeCheck {
 public:
  SlopeCheck(const ProofProgram& program, const LocalProgram& whole)
      : program_(program), whole_(whole), data_(program.step.data) {}

  /// Empty if the gradients agree with central differences of the loss, else the first that does
  /// not.
  Result<std::string> Run() {
    DRYDOCK_TRY(const std::vector<RankOutcome> outcome, RunAllRanks(whole_, data_));
    for (std::size_t i = 0; i < program_.leaves.size(); ++i) {
      const NdArray& gradient = outcome[0].outputs[program_.first_gradient + i];
      const std::size_t count = gradient.data.size();
      const std::size_t stride = std::max<std::size_t>(1, count / kSlopesPerLeaf);
      for (std::size_t e = count == 0 ? 0 : program_.seed % stride; e < count; e += stride) {
        DRYDOCK_TRY(const double slope, SlopeAt(Numbers(program_.leaves[i]), e));
        const double error = std::fabs(gradient.data[e] - slope) / std::max(1.0, std::fabs(slope));
        if (!(error <= program_.one.slope_tolerance)) {
          return "gradient of operand leaf " + std::to_string(i) + " in element " +
                 std::to_string(e) + " is " + std::to_string(gradient.data[e]) +
                 ", the loss has slope " + std::to_string(slope);
        }
      }
    }
    return std::string();
  }

 private:
  std::vector<double>& Numbers(const ProofProgram::Leaf& leaf) {
    return (leaf.is_parameter ? data_.parameters : data_.inputs)[leaf.index].data;
  }

  Result<double> LossNow() {
    DRYDOCK_TRY(const std::vector<RankOutcome> outcome, RunAllRanks(whole_, data_));
    return outcome[0].outputs[program_.loss_output].data.front();
  }

  Result<double> SlopeAt(std::vector<double>& numbers, std::size_t element) {
    const double value = numbers[element];
    const double step = program_.one.slope_step;
    numbers[element] = value + step;
    DRYDOCK_TRY(const double above, LossNow());
    numbers[element] = value - step;
    DRYDOCK_TRY(const double below, LossNow());
    numbers[element] = value;
    return (above - below) / (2 * step);
  }

  const ProofProgram& program_;
  const LocalProgram& whole_;
  StepData data_;
};

ProofOutcome FromError(const Error& error) {
  return {
      .verdict = error.code == ErrorCode::kUnsupported ? Verdict::kUnsupported : Verdict::kFailed,
      .text = FormatError(error)};
}

}  // namespace

ProofOutcome Prove(const ProofProgram& program) {
  const Result<CompiledStep> compiled = CompileStep(program.step);
  if (!compiled) {
    return FromError(compiled.error());
  }
  Comparison how{.tolerance = program.one.tolerance};
  for (std::size_t i = 0; i < program.leaves.size(); ++i) {
    if (!program.leaves[i].is_parameter) {
      how.partial_outputs.push_back(program.first_gradient + i);
    }
  }
  how.mean_outputs = program.per_rank_outputs;
  const Result<std::string> difference = CompareRuns(*compiled, program.step.data, how);
  if (!difference) {
    return FromError(difference.error());
  }
  if (!difference->empty()) {
    return {.text = "sharded and whole differ: " + *difference};
  }
  if (program.one.check_slope && !program.leaves.empty()) {
    const Result<std::string> slopes = SlopeCheck(program, compiled->whole).Run();
    if (!slopes || !slopes->empty()) {
      return {.text = slopes ? *slopes : FormatError(slopes.error())};
    }
  }
  return {.verdict = Verdict::kProven};
}

}  // namespace drydock::strategies::proof
