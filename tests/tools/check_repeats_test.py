import unittest

import check_repeats
import tree_fixture


def lines(first, count):
    return "".join(f"Step{number}();\n" for number in range(first, first + count))


class CheckRepeatsTest(tree_fixture.TreeTest):
    def test_window_that_stands_twice_is_found(self):
        # 8 equal lines in two files of 20 lines: 16 of 40 lines are repeated.
        self.write("base/a.cc", lines(0, 20))
        self.write("sim/b.cc", lines(100, 6) + "\n// comment\n" + lines(5, 8) + lines(200, 6))
        total, hit, groups = check_repeats.repeated(self.root)
        self.assertEqual((total, len(hit), len(groups)), (40, 16, 1))
        self.assertEqual(len(check_repeats.check(self.root)), 2)

    def test_seven_equal_lines_are_no_window(self):
        self.write("base/a.cc", lines(0, 20))
        self.write("sim/b.cc", lines(100, 6) + lines(5, 7) + lines(200, 6))
        self.assertEqual(check_repeats.check(self.root), [])

    def test_few_repeats_in_much_code_are_fine(self):
        # 16 of 816 lines: 2 %.
        self.write("base/a.cc", lines(0, 800))
        self.write("sim/b.cc", lines(0, 8) + lines(900, 8))
        self.assertEqual(check_repeats.check(self.root), [])


if __name__ == "__main__":
    unittest.main()
