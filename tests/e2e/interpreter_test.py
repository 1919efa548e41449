"""`msrun ... python net.py`: flags of the interpreter, and modules instead of files."""

import sys

import command


class InterpreterTest(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.write("net.py", command.network())

    def test_flags_that_change_nothing(self):
        self.assert_accepted(self.msrun("--log_dir=out", "python3", "-u", "-W", "ignore", "net.py"))

    def test_a_module_of_a_package(self):
        (self.folder / "jobs").mkdir()
        self.write("jobs/__init__.py", "")
        self.write("jobs/small.py", "import sys\nfrom jobs import size\nassert sys.argv[1:] == ['--epochs', '3'], sys.argv\n" +
                   command.network())
        self.write("jobs/size.py", "rows = 2\n")
        self.assert_accepted(self.msrun("--log_dir=out", "python3", "-u", "-m", "jobs.small", "--epochs", "3"))

    def test_a_relative_import_of_a_script_is_told_how_to_work(self):
        (self.folder / "jobs").mkdir()
        self.write("jobs/small.py", "from .size import rows\n" + command.network())
        self.write("jobs/size.py", "rows = 2\n")
        run = self.msrun("--log_dir=out", "jobs/small.py")
        self.assert_rejected(run, 6)
        self.assertIn("python3 -m jobs.small", run.hint())
        self.assert_accepted(self.msrun("--log_dir=out", *run.hint().split("[flags] ")[1].split()))

    def test_packages_that_lie_elsewhere_are_found(self):
        (self.folder / "there" / "jobs").mkdir(parents=True)
        self.write("there/jobs/__init__.py", "rows = 2\n")
        self.write("there/jobs/small.py", "from . import rows\n" + command.network())
        self.write("there/jobs/named.py", "from jobs import rows\n" + command.network())
        there = str((self.folder / "there").resolve())
        self.assertIn("cd %s; msrun [flags] python3 -m jobs.small" % there, self.msrun("--log_dir=out", "there/jobs/small.py").hint())
        hint = self.msrun("--log_dir=out", "there/jobs/named.py").hint()
        self.assertIn("set PYTHONPATH=" + there, hint)
        self.assert_accepted(self.msrun("--log_dir=out", "there/jobs/named.py", PYTHONPATH=hint.rpartition("=")[2]))

    def test_what_is_no_script(self):
        for name, text, word in (("run.ipynb", '{"cells": [], "metadata": null}', "notebook"), ("conf.yaml", "model: gpt\n", "configuration"),
                                 ("run.sh", "export A=1\npython net.py\n", "shell script"), ("conf.toml", "[model]\n", "configuration"),
                                 ("start", "#!/usr/bin/env bash\npython net.py\n", "shell script"), ("tool.py", "\x7fELF\x02", "binary file"),
                                 ("cells.py", "%matplotlib inline\nimport numpy\n", "'%matplotlib' is a command of notebooks")):
            self.write(name, text)
            run = self.msrun("--log_dir=out", name)
            self.assert_rejected(run, 6)
            self.assertIn(name + " is not a Python script", run.errors()[0])
            self.assertIn(word, run.hint())

    def test_a_file_that_hides_a_module_of_python(self):
        self.write("queue.py", "import concurrent.futures\nconcurrent.futures.ThreadPoolExecutor(1)\n")
        run = self.msrun("--log_dir=out", "queue.py")
        self.assert_rejected(run, 6)
        if hasattr(sys, "stdlib_module_names"):  # what Python says of its own modules, from 3.10 on
            self.assertIn("'queue.py' in the folder of the script hides Python's own module 'queue'", run.hint())

    def test_a_module_that_is_not_there(self):
        run = self.msrun("--log_dir=out", "python3", "-m", "jobs.large")
        self.assert_rejected(run, 3)
        self.assertIn("jobs.large", run.errors()[0])

    def test_no_script(self):
        self.assertEqual(self.msrun("python3", "-u").status, 2)

    def test_flags_that_would_change_the_script(self):
        run = self.msrun("--log_dir=out", "python3", "-c", "print(1)")
        self.assert_rejected(run, 8)


if __name__ == "__main__":
    command.unittest.main()
