"""Tests of prove.py: what it reads from a round, and its verdict."""

import os
import stat
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import prove  # noqa: E402

ROUND = """proof: Add proven=10 cut=8 unsupported=1 failed=0
/tree/tests/proof/operator_proof_test.cc:42: Failure
sharded and whole differ: output 0
repeat: DRYDOCK_SEED=7 DRYDOCK_PROGRAMS=1 proof_test --gtest_filter='*/Mul'
proof: Mul proven=3 cut=2 unsupported=0 failed=1
[  FAILED  ] Table/OperatorProof.RanksTogether/Mul (1 ms)
[  PASSED  ] 1 test.
"""


class ReadingARound(unittest.TestCase):
    def test_counts_add_up_over_rounds(self):
        counts = {}
        prove.add_counts(counts, ROUND)
        prove.add_counts(counts, ROUND)
        self.assertEqual(counts, {"Add": [20, 16, 2, 0], "Mul": [6, 4, 0, 2]})

    def test_a_failure_keeps_the_line_that_repeats_it(self):
        failures = prove.failures_in(ROUND)
        self.assertEqual(len(failures), 1)
        self.assertIn("DRYDOCK_SEED=7", failures[0])

    def test_table_has_a_line_per_operator_and_a_sum(self):
        counts = {}
        prove.add_counts(counts, ROUND)
        rows = [line.split() for line in prove.table(counts).splitlines()]
        self.assertEqual(rows[1], ["Add", "10", "8", "1", "0"])
        self.assertEqual(rows[-1], ["all", "operators", "13", "10", "1", "1"])


class Verdict(unittest.TestCase):
    def run_with(self, script):
        """Exit status of one round with a program that does what the shell script says."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program")
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n" + script)
            os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
            return prove.main([path, "--seconds", "0", "--seed", "5"])

    def test_all_proven_is_success(self):
        line = "proof: Add proven=$DRYDOCK_PROGRAMS cut=0 unsupported=0 failed=0"
        self.assertEqual(self.run_with(f'test "$DRYDOCK_SEED" = 5 && echo "{line}"'), 0)

    def test_a_crash_is_a_failure(self):
        line = "proof: Add proven=1 cut=0 unsupported=0 failed=0"
        self.assertEqual(self.run_with(f'echo "{line}"; exit 139'), 1)

    def test_nothing_tried_is_a_failure(self):
        self.assertEqual(self.run_with("exit 0"), 1)


if __name__ == "__main__":
    unittest.main()
