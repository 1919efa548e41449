#include "tests/proof/proof_case.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"

namespace drydock::strategies::proof {
namespace {

std::vector<ProofEntry>& Registered() {
  static std::vector<ProofEntry> entries;  // Filled during static initialisation only.
  return entries;
}

/// Length of a row of the last dimension; 1 for scalars.
std::size_t RowLength(const Shape& shape) {
  return shape.empty() ? 1 : static_cast<std::size_t>(std::max<std::int64_t>(1, shape.back()));
}

/// Evenly spread over (low, high). The offset 0.31 keeps every number away from low + k/8 and
/// low + k/6 of the range, where rounding, clipping and activation functions have their kinks.
std::vector<double> Spread(std::size_t count, double low, double high) {
  std::vector<double> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    numbers.push_back(low +
                      (high - low) * (static_cast<double>(i) + 0.31) / static_cast<double>(count));
  }
  return numbers;
}

std::vector<double> Shuffled(std::vector<double> numbers, Draw& draw) {
  std::vector<double> result;
  for (const std::int64_t i : draw.Permutation(std::ssize(numbers))) {
    result.push_back(numbers[static_cast<std::size_t>(i)]);
  }
  return result;
}

std::vector<double> DistinctIntegers(std::size_t count, std::int64_t low, std::int64_t high,
                                     Draw& draw) {
  DRYDOCK_CHECK(static_cast<std::int64_t>(count) <= high - low + 1);
  std::vector<double> numbers;
  for (const std::int64_t i : draw.Permutation(high - low + 1)) {
    if (numbers.size() < count) {
      numbers.push_back(static_cast<double>(low + i));
    }
  }
  return numbers;
}

void NormaliseRows(std::vector<double>& numbers, std::size_t row) {
  for (std::size_t begin = 0; begin + row <= numbers.size(); begin += row) {
    double sum = 0;
    for (std::size_t i = begin; i < begin + row; ++i) {
      sum += numbers[i];
    }
    for (std::size_t i = begin; i < begin + row; ++i) {
      numbers[i] /= sum;
    }
  }
}

std::vector<double> Numbers(const Operand& operand, std::size_t count, Draw& draw) {
  const std::size_t row = RowLength(operand.type.shape);
  const auto low = static_cast<std::int64_t>(std::llround(operand.low));
  const auto high = static_cast<std::int64_t>(std::llround(operand.high));
  std::vector<double> numbers;
  switch (operand.values) {
    case Values::kSpread:
      return Shuffled(Spread(count, operand.low, operand.high), draw);
    case Values::kInteger:
      for (std::size_t i = 0; i < count; ++i) {
        numbers.push_back(static_cast<double>(draw.Uniform(low, high)));
      }
      return numbers;
    case Values::kDistinct:
      return DistinctIntegers(count, low, high, draw);
    case Values::kSorted:
      numbers = Shuffled(Spread(count, operand.low, operand.high), draw);
      for (std::size_t begin = 0; begin + row <= count; begin += row) {
        std::sort(numbers.begin() + static_cast<std::ptrdiff_t>(begin),
                  numbers.begin() + static_cast<std::ptrdiff_t>(begin + row));
      }
      return numbers;
    case Values::kOneHot:
      numbers.assign(count, 0.0);
      for (std::size_t begin = 0; begin + row <= count; begin += row) {
        numbers[begin + static_cast<std::size_t>(
                            draw.Uniform(0, static_cast<std::int64_t>(row) - 1))] = 1.0;
      }
      return numbers;
    case Values::kProbability:
      numbers = Shuffled(Spread(count, 0.2, 1.2), draw);
      NormaliseRows(numbers, row);
      return numbers;
    case Values::kFixed:
      break;
  }
  return operand.data;
}

}  // namespace

Operand Floats(Shape shape, double low, double high) {
  return {.type = {.shape = std::move(shape)}, .low = low, .high = high};
}

Operand Positive(Shape shape) {
  return Floats(std::move(shape), 0.3, 2.3);
}

Operand Indices(Shape shape, std::int64_t below, DType dtype) {
  return Integers(std::move(shape), 0, below - 1, dtype);
}

Operand Integers(Shape shape, std::int64_t low, std::int64_t high, DType dtype) {
  return {.type = {.shape = std::move(shape), .dtype = dtype},
          .values = Values::kInteger,
          .low = static_cast<double>(low),
          .high = static_cast<double>(high),
          .differentiable = false};
}

Operand Bools(Shape shape) {
  return Integers(std::move(shape), 0, 1, DType::kBool);
}

Operand Fixed(Shape shape, std::vector<double> data, DType dtype) {
  return {.type = {.shape = std::move(shape), .dtype = dtype},
          .values = Values::kFixed,
          .data = std::move(data)};
}

Operand Scalar(double value, DType dtype) {
  return NoGradient(FedAs(Fixed({}, {value}, dtype), Feed::kConstant));
}

Operand Absent() {
  return {.differentiable = false, .feed = Feed::kAbsent};
}

Operand WithValues(Operand operand, Values values) {
  operand.values = values;
  return operand;
}

Operand FedAs(Operand operand, Feed feed) {
  operand.feed = feed;
  return operand;
}

Operand OfType(Operand operand, DType dtype) {
  operand.type.dtype = dtype;
  return operand;
}

Operand NoGradient(Operand operand) {
  operand.differentiable = false;
  return operand;
}

ProofRegistrar::ProofRegistrar(CaseGenerator generator,
                               std::initializer_list<std::string_view> ops) {
  for (const std::string_view op : ops) {
    Registered().push_back({.op = op, .generator = generator});
  }
}

ProofRegistrar::ProofRegistrar(std::string_view reason,
                               std::initializer_list<std::string_view> ops) {
  for (const std::string_view op : ops) {
    Registered().push_back({.op = op, .reason = reason});
  }
}

const std::vector<ProofEntry>& AllProofEntries() {
  static const std::vector<ProofEntry> kSorted = [] {
    std::vector<ProofEntry> entries = Registered();
    std::ranges::sort(entries, {}, &ProofEntry::op);
    return entries;
  }();
  return kSorted;
}

const ProofEntry* FindProof(std::string_view op) {
  const std::vector<ProofEntry>& all = AllProofEntries();
  const auto it = std::ranges::lower_bound(all, op, {}, &ProofEntry::op);
  return it != all.end() && it->op == op ? &*it : nullptr;
}

NdArray DrawValues(const Operand& operand, std::mt19937_64& random) {
  NdArray array = FilledArray(operand.type.shape, 0.0);
  Draw draw("", random());
  array.data = Numbers(operand, array.data.size(), draw);
  DRYDOCK_CHECK(std::ssize(array.data) == Product(operand.type.shape));
  return array;
}

}  // namespace drydock::strategies::proof
