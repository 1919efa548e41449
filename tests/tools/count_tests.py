"""Counts the results of a ctest run and prints one line: `N passed, N failed[, N skipped]`.

    count_tests.py REPORT.xml [--gtest FOLDER] [--status CTEST_EXIT_STATUS]

REPORT.xml is what `ctest --output-junit` wrote. A test gtest.<name> that ran a GoogleTest program counts as
the cases in FOLDER/gtest.<name>.xml. A test that could not be started (its program was not
built) counts as failed, as ctest itself sees it. Exit status 0 if something passed and nothing failed.
"""

import argparse
import os
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


def gtest_outcome(case):
    """'passed', 'failed' or 'skipped' of one <testcase> written by GoogleTest."""
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "passed" if case.get("status") == "run" and case.get("result") == "completed" else "skipped"


def outcomes_of(case, gtest_folder):
    """Outcomes of one ctest test: its own, or those of the GoogleTest cases it ran."""
    own = outcome(case)
    path = os.path.join(gtest_folder, case.get("name", "") + ".xml") if gtest_folder else ""
    if not os.path.exists(path):
        return [own]
    try:
        cases = ElementTree.parse(path).getroot().iter("testcase")
    except ElementTree.ParseError:
        return ["failed"]
    found = [gtest_outcome(one) for one in cases]
    # A program that died after its last case (a leak, a broken check) has failed all the same.
    return found + (["failed"] if own == "failed" and "failed" not in found else [])


def count(report_path, gtest_folder=""):
    """Counts of a report file. A file that is missing or broken counts as one failure."""
    try:
        root = ElementTree.parse(report_path).getroot()
    except (OSError, ElementTree.ParseError):
        return Counts(passed=0, failed=1, skipped=0)
    outcomes = [one for case in root.iter("testcase") for one in outcomes_of(case, gtest_folder)]
    return Counts(*(outcomes.count(name) for name in ("passed", "failed", "skipped")))


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report")
    parser.add_argument("--gtest", default="")
    parser.add_argument("--status", type=int, default=0)
    options = parser.parse_args(arguments)
    counts = count(options.report, options.gtest)
    if options.status and not counts.failed:
        # ctest failed although no test did: no tests, or ctest itself.
        counts = counts._replace(failed=1)
    print(counts.line())
    return 0 if counts.passed and not counts.failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
