import unittest

import check_one_place
import tree_fixture

RULES = '''
#define DRYDOCK_UNARY(id, fn) \\
  DRYDOCK_OP(id, .family = "unary", .infer = fn)
// DRYDOCK_OP(Commented, .family = "x");
DRYDOCK_OP(MatMul, .family = "matmul");
DRYDOCK_OP(
    Softmax, .family = "axis");
DRYDOCK_UNARY(ReLU, Infer);
DRYDOCK_OP_NAMED(VirtualDiv, "_VirtualDiv", .family = "virtual",
                 .aliases = "Division,Div");
void F() {
  DRYDOCK_TRY(const auto x, Get());
}
'''


class CheckOnePlaceTest(tree_fixture.TreeTest):
    def problems(self, path, text):
        self.write("strategies/rules/all.cc", RULES)
        self.write(path, text)
        return check_one_place.check(self.root)

    def test_names_come_from_the_table(self):
        self.write("strategies/rules/all.cc", RULES)
        self.assertEqual(check_one_place.operator_names(self.root), {"MatMul", "Softmax", "ReLU", "_VirtualDiv", "Division", "Div"})

    def test_literal_elsewhere_is_refused_with_its_line(self):
        problems = self.problems("sim/x.cc", 'int a;\nbool b = op == "ReLU";\n')
        self.assertEqual(problems, ['sim/x.cc:2: operator name "ReLU" outside strategies/rules'])

    def test_name_with_another_text_is_found_by_its_text(self):
        self.assertEqual(len(self.problems("launcher/x.h", 'auto a = "_VirtualDiv";\nauto b = "VirtualDiv";\n')), 1)

    def test_rules_tests_comments_and_longer_texts_are_fine(self):
        self.assertEqual(self.problems("strategies/rules/y.cc", 'auto a = "ReLU";'), [])
        self.assertEqual(self.problems("tests/y.cc", 'auto a = "ReLU";'), [])
        self.assertEqual(self.problems("sim/y.cc", '// "ReLU"\nauto a = "MatMul needs 2 tensors";'), [])

    def test_empty_table_is_a_problem(self):
        self.write("strategies/rules/all.cc", "OTHER_FORM(MatMul)\n")
        self.assertEqual(len(check_one_place.check(self.root)), 1)


if __name__ == "__main__":
    unittest.main()
