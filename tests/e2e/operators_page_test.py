"""docs/operators.md is what the program says today, and the flag works wherever it stands."""

import json
import subprocess
import sys
import unittest

import command

sys.path.insert(0, str(command.SOURCE / "tests/tools"))
import operators_page  # noqa: E402


def listing(*flags):
    return subprocess.run([command.MSRUN, *flags], stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout


class OperatorsPageTest(unittest.TestCase):
    maxDiff = 2000

    def test_page_is_up_to_date(self):
        page = (command.SOURCE / "docs/operators.md").read_text(encoding="utf-8")
        self.assertEqual(operators_page.page(operators_page.operators_of(command.MSRUN)), page,
                         "run 'make operators'")

    def test_flag_may_stand_anywhere_among_the_flags(self):
        first = listing("--list_operators", "--json")
        self.assertGreater(len(json.loads(first)["operators"]), 400)
        for flags in (["--json", "--list_operators"], ["--worker_num", "4", "--list_operators", "--json"],
                      ["--sim_level=1", "--json", "--list-operators"]):
            with self.subTest(flags=flags):
                self.assertEqual(listing(*flags), first)

    def test_table_has_one_line_per_operator(self):
        rows = json.loads(listing("--list_operators", "--json"))["operators"]
        lines = listing("--list_operators").splitlines()
        self.assertEqual(len(lines), len(rows) + 1)
        for title in ("operator", "family", "may be cut", "communication", "gradient", "reference"):
            self.assertIn(title, lines[0])


if __name__ == "__main__":
    unittest.main()
