"""Counts the results of a ctest run and prints one line: `N passed, N failed[, N skipped]`.

    count_tests.py REPORT.xml [--status CTEST_EXIT_STATUS]

REPORT.xml is what `ctest --output-junit` wrote. A test that could not be started (its program was not
built) counts as failed, as ctest itself sees it. Exit status 0 if something passed and nothing failed.
"""

import argparse
import sys
import xml.etree.ElementTree as ElementTree
from typing import NamedTuple


class Counts(NamedTuple):
    passed: int
    failed: int
    skipped: int

    def line(self):
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


def outcome(case):
    """'passed', 'failed' or 'skipped' of one <testcase>."""
    status = case.get("status", "")
    if case.find("failure") is not None or status == "fail":
        return "failed"
    if status == "disabled":
        return "skipped"
    skipped = case.find("skipped")
    if skipped is not None or status == "notrun":
        # A test skipped by itself carries the property that made it so: SKIP_RETURN_CODE=77,
        # SKIP_REGULAR_EXPRESSION_MATCHED. Anything else was never started.
        message = skipped.get("message", "") if skipped is not None else ""
        return "skipped" if message.startswith("SKIP_") else "failed"
    return "passed"


def count(report_path):
    """Counts of a report file. A file that is missing or broken counts as one failure."""
    try:
        root = ElementTree.parse(report_path).getroot()
    except (OSError, ElementTree.ParseError):
        return Counts(passed=0, failed=1, skipped=0)
    outcomes = [outcome(case) for case in root.iter("testcase")]
    return Counts(*(outcomes.count(name) for name in ("passed", "failed", "skipped")))


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report")
    parser.add_argument("--status", type=int, default=0)
    options = parser.parse_args(arguments)
    counts = count(options.report)
    if options.status and not counts.failed:
        # ctest failed although no test did: no tests, or ctest itself.
        counts = counts._replace(failed=1)
    print(counts.line())
    return 0 if counts.passed and not counts.failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
