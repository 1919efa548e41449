#include "strategies/reference/verify.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "strategies/layout/group_name.h"
#include "strategies/operators/op_entry.h"
#include "strategies/reference/executor.h"

/// Numbers are small and differ from element to element, so that a slice in the wrong place, a sum
/// over the wrong ranks or a missing one changes results by far more than rounding does.
///
/// Example: w of 8 x 4 cut ((4, 1)) on 4 ranks: after the step rank 2 must hold rows 4 and 5 of
/// what one device computes.
namespace drydock::strategies {
namespace {

tl::unexpected<Error> NotVerified(const std::string& why) {
  return Fail(ErrorCode::kUnsupported, "the job cannot be run on numbers: " + why,
              "leave --verify out, or try a smaller job with the same strategies");
}

/// A number in [0, 1) that belongs to an element.
double Drawn(std::uint64_t tensor, std::uint64_t element) {
  std::uint64_t bits = (tensor + 1) * 0x9e3779b97f4a7c15ULL + element * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ (bits >> 30U)) * 0x94d049bb133111ebULL;
  bits ^= bits >> 31U;
  return static_cast<double>(bits >> 11U) / static_cast<double>(std::uint64_t{1} << 53U);
}

/// Whole numbers are 0 and 1, legal as indices, labels and truth values.
NdArray Numbers(const TensorType& type, std::uint64_t tensor, double low, double high) {
  NdArray array = FilledArray(type.shape, 0.0);
  for (std::size_t i = 0; i < array.data.size(); ++i) {
    const double drawn = Drawn(tensor, i);
    array.data[i] = IsFloating(type.dtype) ? low + (high - low) * drawn : std::floor(2 * drawn);
  }
  return array;
}

/// Moments and statistics are positive, since roots are taken of them; rates are small.
NdArray NumbersOf(const Graph& graph, const Parameter& parameter, std::uint64_t tensor) {
  const TensorType& type = graph.at(parameter.value).type;
  switch (parameter.role) {
    case ParameterRole::kHyper:
      return IsFloating(type.dtype) ? Numbers(type, tensor, 0.01, 0.02)
                                    : FilledArray(type.shape, 1.0);
    case ParameterRole::kOptimizerState:
      return Numbers(type, tensor, 0.5, 1.5);
    case ParameterRole::kAccumulatedGradient:
      return FilledArray(type.shape, 0.0);
    case ParameterRole::kWeight:
      break;
  }
  return parameter.requires_grad ? Numbers(type, tensor, -0.5, 0.5)
                                 : Numbers(type, tensor, 0.5, 1.5);
}

StepData DataOf(const Graph& graph) {
  StepData data;
  std::uint64_t input = 0;
  for (const ValueId value : graph.inputs) {
    data.inputs.push_back(Numbers(graph.at(value).type, input++, -0.5, 0.5));
  }
  for (const Parameter& parameter : graph.parameters) {
    data.parameters.push_back(
        NumbersOf(graph, parameter, NameHash(graph.at(parameter.value).name)));
  }
  return data;
}

/// Elements of all values of a program, on all ranks that run it.
Result<std::int64_t> ElementsOf(const Graph& graph, std::int64_t ranks) {
  std::int64_t elements = 0;
  for (const Value& value : graph.values) {
    DRYDOCK_TRY(const std::int64_t one, ProductChecked(value.type.shape));
    DRYDOCK_TRY(elements, AddChecked(elements, one));
  }
  return MulChecked(elements, ranks);
}

Status CheckSize(const JobProgram& uncut, const JobProgram& job) {
  const JobConfig& config = job.config;
  if (job.programs.size() != 1 || config.pipeline_stages != 1) {
    return NotVerified("there are several networks or stages");
  }
  const Graph& traced = uncut.programs.front().from->traced;
  if (std::ranges::any_of(traced.nodes,
                          [](const Node& n) { return n.entry->collective != nullptr; })) {
    return NotVerified(
        "the script communicates by itself, or data_parallel mode does for it, so that its network "
        "on one device is another one");
  }
  if (config.world_size > kMaxVerifiedRanks) {
    return NotVerified("there are more than " + std::to_string(kMaxVerifiedRanks) + " ranks");
  }
  const auto cut = ElementsOf(job.programs.front().local, config.world_size);
  const auto whole = ElementsOf(uncut.programs.front().local, 1);
  if (!cut || !whole || *cut > kMaxVerifiedElements || *whole > kMaxVerifiedElements) {
    return NotVerified("the ranks hold more than " + std::to_string(kMaxVerifiedElements) +
                       " numbers");
  }
  return {};
}

/// Compares a rank's slice and counts what was compared.
class Comparison {
 public:
  explicit Comparison(Verification& found) : found_(found) {}

  void Compare(std::int64_t rank, const std::string& name, const NdArray& whole,
               const std::vector<Range>& ranges, const NdArray& slice) {
    const NdArray expected = SliceArray(whole, ranges);
    if (expected.shape != slice.shape) {
      Note(rank, name,
           "has shape " + TupleText(slice.shape) + ", not " + TupleText(expected.shape));
      return;
    }
    for (std::size_t i = 0; i < slice.data.size(); ++i) {
      if (!Near(slice.data[i], expected.data[i])) {
        std::string text = "has at " + std::to_string(i);
        text += " of its part " + std::to_string(slice.data[i]);
        text += ", one device " + std::to_string(expected.data[i]);
        Note(rank, name, text);
        return;
      }
    }
    ++found_.tensors;
    found_.elements += std::ssize(slice.data);
  }

 private:
  static bool Near(double a, double b) {
    return std::abs(a - b) <= 1e-6 * std::max(1.0, std::abs(b));
  }
  void Note(std::int64_t rank, const std::string& name, const std::string& text) {
    if (found_.difference.empty()) {
      found_.difference = "rank " + std::to_string(rank) + ": " + name;
      found_.difference += " " + text;
    }
  }
  Verification& found_;
};

bool IsFinite(const NdArray& array) {
  return std::ranges::all_of(array.data, [](double x) { return std::isfinite(x); });
}

std::map<std::string, NdArray> ParametersAfter(const LocalProgram& program,
                                               const RankOutcome& outcome) {
  std::map<std::string, NdArray> by_name;
  for (std::size_t p = 0; p < program.local.parameters.size(); ++p) {
    by_name[program.local.at(program.local.parameters[p].value).name] = outcome.parameters[p];
  }
  return by_name;
}

}  // namespace

Result<Verification> VerifyJob(const JobProgram& uncut, const JobProgram& job) {
  DRYDOCK_RETURN_IF_ERROR(CheckSize(uncut, job));
  const LocalProgram& one = uncut.programs.front();
  const LocalProgram& cut = job.programs.front();
  const StepData data = DataOf(one.from->traced);
  const StepData cut_data = DataOf(cut.from->traced);
  const auto single = RunJob(uncut, {&data, 1});
  const auto ranks = RunJob(job, {&cut_data, 1});
  if (!single || !ranks) {
    return NotVerified((single ? ranks.error() : single.error()).message);
  }
  const auto expected = ParametersAfter(one, single->front());
  if (!std::ranges::all_of(expected, [](const auto& item) { return IsFinite(item.second); })) {
    return NotVerified("its numbers overflow on one device");
  }
  Verification found;
  Comparison comparison(found);
  for (std::int64_t rank = 0; rank < std::ssize(*ranks); ++rank) {
    const RankOutcome& outcome = (*ranks)[static_cast<std::size_t>(rank)];
    for (std::size_t p = 0; p < cut.local.parameters.size(); ++p) {
      const std::string& name = cut.local.at(cut.local.parameters[p].value).name;
      if (const auto value = expected.find(name); value != expected.end()) {
        comparison.Compare(rank, name, value->second,
                           OwnedRanges(cut, p, RankId{static_cast<std::int32_t>(rank)}),
                           outcome.parameters[p]);
      }
    }
  }
  return found;
}

}  // namespace drydock::strategies
