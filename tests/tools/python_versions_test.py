"""The fast form of python_versions.py: what it calls absent, failed and passed."""
import os
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import python_versions  # noqa: E402

HERE = sys.version_info[1]


class Fast(unittest.TestCase):
    def line(self, source, failures=None):
        """Line for a package of one file; `failures` stands for what the tests of the stand-in say."""
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(python_versions, "PACKAGE", folder), \
                mock.patch.object(python_versions, "TESTS", folder), \
                mock.patch.object(python_versions, "interpreter", lambda minor: sys.executable), \
                mock.patch.object(python_versions, "run", lambda python, tests, library: failures or {}):
            with open(os.path.join(folder, "part.py"), "w") as file:
                file.write(source)
            passed, text = python_versions.fast_line(HERE, "library")
            self.assertEqual(os.listdir(folder), ["part.py"])
        return passed, text

    def test_sound_files_pass(self):
        passed, text = self.line("x = 1\n")
        self.assertTrue(passed)
        self.assertIn("passed syntax", text)

    def test_syntax_error_fails(self):
        passed, text = self.line("def f(:\n")
        self.assertFalse(passed)
        self.assertIn("failed: syntax", text)
        self.assertIn("part.py", text)

    def test_warning_of_the_compiler_fails(self):
        self.assertFalse(self.line("x = 1 is 1\n")[0])

    def test_failed_test_is_named_with_its_output(self):
        passed, text = self.line("x = 1\n", {"surface_test": "no such name"})
        self.assertFalse(passed)
        self.assertIn("failed: surface_test", text)
        self.assertIn("no such name", text)

    def test_interpreter_that_is_not_there_is_absent(self):
        self.assertIsNone(python_versions.interpreter(99))
        self.assertEqual(python_versions.fast_line(99, "library"), (None, "python 3.99 absent"))

    def test_nothing_to_run_is_a_failure(self):
        with mock.patch("builtins.print"):
            self.assertEqual(python_versions.run_fast([99], "library"), 1)


if __name__ == "__main__":
    unittest.main()
