import contextlib
import io
import unittest

import count_tests
import tree_fixture

REPORT = '''<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="Linux-c++" tests="6">
  <testcase name="a" status="run"/>
  <testcase name="b" status="run"><system-out>N passed, 7 failed</system-out></testcase>
  <testcase name="c" status="fail"><failure message=""/></testcase>
  <testcase name="d" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
  <testcase name="e" status="notrun"><skipped message="Unable to find executable"/></testcase>
  <testcase name="f" status="disabled"/>
</testsuite>
'''
GOOD = '<testsuite><testcase name="a" status="run"/></testsuite>'


class CountTestsTest(tree_fixture.TreeTest):
    def run_main(self, report, *arguments):
        if report is not None:
            self.write("tests.xml", report)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = count_tests.main([str(self.root / "tests.xml"), *arguments])
        return out.getvalue(), status

    def test_every_outcome_is_counted(self):
        # a, b passed; c failed and e could not be started; d skipped itself, f is disabled.
        self.assertEqual(self.run_main(REPORT), ("2 passed, 2 failed, 2 skipped\n", 1))

    def test_all_good(self):
        self.assertEqual(self.run_main(GOOD), ("1 passed, 0 failed\n", 0))

    def test_cases_of_a_gtest_program_count_one_by_one(self):
        self.write("gtest/a.xml", """<testsuites><testsuite>
            <testcase name="x" status="run" result="completed"/>
            <testcase name="y" status="run" result="completed"><failure message=""/></testcase>
            <testcase name="z" status="run" result="skipped"><skipped/></testcase>
            <testcase name="w" status="notrun" result="suppressed"/></testsuite></testsuites>""")
        # x passed, y failed, z skipped itself, w is disabled.
        self.assertEqual(self.run_main(GOOD, "--gtest", str(self.root / "gtest")),
                         ("1 passed, 1 failed, 2 skipped\n", 1))

    def test_gtest_program_that_dies_after_its_last_case_has_failed(self):
        self.write("gtest/c.xml", '<testsuites><testcase status="run" result="completed"/></testsuites>')
        report = '<testsuite><testcase name="c" status="fail"><failure message=""/></testcase></testsuite>'
        self.assertEqual(self.run_main(report, "--gtest", str(self.root / "gtest")),
                         ("1 passed, 1 failed\n", 1))

    def test_failed_run_without_a_failed_test_is_a_failure(self):
        self.assertEqual(self.run_main(GOOD, "--status", "8"), ("1 passed, 1 failed\n", 1))

    def test_missing_or_broken_report_is_a_failure(self):
        self.assertEqual(self.run_main(None), ("0 passed, 1 failed\n", 1))
        self.assertEqual(self.run_main("<testsuite>"), ("0 passed, 1 failed\n", 1))

    def test_nothing_but_skipped_is_no_success(self):
        report = '<testsuite><testcase name="d" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase></testsuite>'
        self.assertEqual(self.run_main(report), ("0 passed, 0 failed, 1 skipped\n", 1))


if __name__ == "__main__":
    unittest.main()
