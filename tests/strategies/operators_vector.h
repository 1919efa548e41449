#pragma once

#include <ostream>
#include <string>

#include "tests/strategies/op_cases.h"

/// operators.json, for the tests that go through its operators.
namespace drydock::strategies::cases {

/// What the vector says of one operator.
struct Fact {
  std::string name = {};
  json facts = {};
  friend void PrintTo(const Fact& one, std::ostream* out) { *out << one.name; }
};

/// The whole document, read once.
inline const json& OperatorsVector() {
  static const json kDocument = VectorDocument("operators.json");
  return kDocument;
}

}  // namespace drydock::strategies::cases
