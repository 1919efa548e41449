"""Ours beside every recorded dry run of MindSpore that is compared: nothing may be farther from it than expected.json says.

DRYDOCK_VECTORS names another folder of records; where nothing is said of what to expect, most of them must be near.
By hand: `ctest --test-dir build/dev -L truth`, or compare.py, which shows what differs.
"""

import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import compare  # noqa: E402
import ours  # noqa: E402
import records  # noqa: E402
import verdicts  # noqa: E402

BUILD = os.environ.get("DRYDOCK_BUILD_DIR", str(records.SOURCE / "build/dev"))
JOBS = 2  # runs at a time
NEAR, EQUAL = 0.90, 0.95  # shares of records, see verdicts.shares


class RecordedTruthTest(unittest.TestCase):
    def test_no_record_is_farther_from_the_truth_than_expected(self):
        vectors = records.vectors_folder().resolve()
        if not (vectors / "dry_run.json").exists():
            self.skipTest("no recorded dry runs in %s" % vectors)
        expected, worse, better = verdicts.load(vectors), [], []
        with tempfile.TemporaryDirectory(prefix="drydock-truth-") as folder:
            rows = list(compare.rows_of(vectors, ours.msrun_of(BUILD), Path(folder), compare.choose(vectors), JOBS))
        self.assertTrue(rows)
        left_out = {name: why for name, why in verdicts.scope(vectors).items() if why}
        print("\n".join(compare.totals(rows)), file=sys.stderr)
        print("not compared: " + "; ".join("%s (%s)" % one for one in left_out.items()), file=sys.stderr)
        if expected is None:
            near, equal = verdicts.shares(rows)
            self.assertGreaterEqual(near, NEAR, "share of records with both peaks within 1 %")
            self.assertGreaterEqual(equal, EQUAL, "share of records with equal collectives")
            return
        for row in rows:
            far, near = verdicts.judge(row, expected.get(row["name"], {}))
            worse, better = worse + far, better + near
        for line in better:
            print("better than expected: " + line, file=sys.stderr)
        self.assertEqual(worse, [], "\n" + "\n".join(worse))

    def test_expectations_are_about_records_that_are_compared(self):
        vectors = records.vectors_folder().resolve()
        compared = {name for name, why in verdicts.scope(vectors).items() if not why}
        self.assertEqual(sorted(set(verdicts.load(vectors) or {}) - compared), [])


if __name__ == "__main__":
    unittest.main()
