import unittest

import check_sizes
import tree_fixture

CODE = '''#include <x>
#define MACRO(a) \\
  { a; }
namespace drydock {
namespace {
struct Point {
  int x = 0;
  std::vector<int> list = {};
  friend bool operator==(const Point&, const Point&) = default;
  int Sum() const {
    return x;
  }
};
constexpr int kTable[] = {1, 2,
  3};
Result<int> Twice(int a, std::vector<int> b = {}) {
  if (a > 0) {
    const auto f = [&](int c) { return "}"; };
    return f('}');  // }
  }
  return 0;
}
Holder::Holder(int a)
    : a_{a},
      b_(a) {
  Use();
}
template <typename T = int>
bool operator<(const T& a, const T& b) {
  return true;
}
ENTRY(MatMul, .infer = [](int a) { return a; }, .list = {1, 2});
}  // namespace
}  // namespace drydock
'''


class CheckSizesTest(tree_fixture.TreeTest):
    def test_functions_are_found_with_their_body_lengths(self):
        found = [(function.name, function.lines) for function in check_sizes.functions(CODE)]
        self.assertEqual(found, [("Sum", 1), ("Twice", 5), ("Holder::Holder", 1), ("operator<", 1)])

    def check_function_of(self, lines, folder="base"):
        warnings = []
        self.write(f"{folder}/x.cc", "void F() {\n" + "  G();\n" * lines + "}\n")
        return check_sizes.check(self.root, warnings.append), warnings

    def test_function_at_its_target_is_silent(self):
        self.assertEqual(self.check_function_of(40), ([], []))

    def test_function_over_its_target_is_a_warning(self):
        problems, warnings = self.check_function_of(41)
        self.assertEqual((problems, len(warnings)), ([], 1))

    def test_function_over_the_limit_is_a_problem(self):
        problems, _ = self.check_function_of(61)
        self.assertEqual(problems, ["base/x.cc:1: 'F' has 61 lines, the limit is 60"])

    def test_file_over_the_limit_is_a_problem_unless_it_is_a_table(self):
        self.write("sim/long.cc", "int a;\n" * 801)
        self.write("sim/long_table.cc", "int a;\n" * 801)
        self.write("sim/long.h", "int a;\n" * 301)
        problems = check_sizes.check(self.root)
        self.assertEqual([problem.split(":")[0] for problem in problems], ["sim/long.cc", "sim/long.h"])


if __name__ == "__main__":
    unittest.main()
