import unittest

import check_names
import tree_fixture

SOURCE = """namespace drydock {
namespace {

constexpr int kMost = 3;
using Json = nlohmann::json;

struct Row {
  int member = 0;
};

double Product(double a, double b) {
  int kMost2 = 0;
  return a * b;
}

}  // namespace

int Public() { return 0; }

}  // namespace drydock
"""


class CheckNamesTest(tree_fixture.TreeTest):
    def problems(self, text, path="sim/b.cc"):
        self.write("sim/a.cc", SOURCE)
        self.write(path, "namespace drydock {\nnamespace {\n\n%s\n}  // namespace\n}  // namespace drydock\n" % text)
        return check_names.check(self.root)

    def test_a_constant_a_type_and_a_function_of_another_source(self):
        for text, name in (("constexpr std::size_t kMost = 5;", "kMost"), ("class Row {\n};", "Row"), ("double Product(double x, double y) {\n}", "Product(")):
            problems = self.problems(text)
            self.assertEqual(len(problems), 1, text)
            self.assertRegex(problems[0], r"^sim/b\.cc:4: '%s.* is a name in sim/a\.cc:\d+" % name.replace("(", r"\("))

    def test_another_alias_of_that_name(self):
        self.assertEqual(len(self.problems("using Json = nlohmann::ordered_json;")), 1)

    def test_the_name_of_a_type_in_a_header_of_base_or_of_the_folder(self):
        for header in ("base/error.h", "sim/row.h"):
            self.write(header, "namespace drydock {\n\nclass Status {\n};\n\n}\n")
            problems = self.problems("int Status(int code) {\n}")
            self.assertEqual(problems, ["sim/b.cc:4: 'Status(int)' is a name in %s:1, too; one thing in one place, or two names" % header])
            (self.root / header).unlink()

    def test_what_is_fine(self):
        self.assertEqual(self.problems("using Json = nlohmann::json;"), [])  # The same alias.
        self.assertEqual(self.problems("int Product(int a) {\n}"), [])  # Overloaded.
        self.assertEqual(self.problems("constexpr int kMost2 = 1;\nint Public() {\n}"), [])  # Local there; not unnamed there.
        self.assertEqual(self.problems("constexpr int kMost = 3;", "reports/b.cc"), [])  # Another folder.


if __name__ == "__main__":
    unittest.main()
