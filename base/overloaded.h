#pragma once

namespace drydock {

/// Visitor for std::variant made of lambdas: `std::visit(Overloaded{[](int) {}, [](auto&) {}}, v)`.
template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace drydock
