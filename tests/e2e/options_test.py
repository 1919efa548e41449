"""Levels, folders of reports, closed pipes."""

import os
import subprocess

import command


class LevelTest(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.write("net.py", command.network("((2, 4), (4, 1))"))

    def test_each_level_adds_its_reports(self):
        for level, more in (("0", set()), ("1", {"memory.json"}), ("2", {"memory.json", "rank_0"}),
                            ("3", {"memory.json", "timeline.json", "trace_view.json"})):
            self.assert_accepted(self.msrun("--log_dir=" + level, "net.py", level=level))
            self.assertEqual(set(self.files(level)), {"summary.json", "communication.json"} | more)
            self.assertEqual(self.report("summary.json", level)["checked"]["simulation_level"], int(level))

    def test_level_4_does_not_exist(self):
        self.assert_rejected(self.msrun("--log_dir=out", "net.py", level="4"), 2)

    def test_level_0_leaves_memory_out(self):
        self.assert_accepted(self.msrun("--log_dir=out", "net.py", level="0"))
        self.assertEqual(self.report("summary.json", "out")["memory"], [])


class LogFolderTest(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.write("net.py", command.network("((2, 4), (4, 1))"))

    def test_folder_is_made_with_its_parents(self):
        self.assert_accepted(self.msrun("--log_dir=a/b/c", "net.py"))
        self.assertEqual(self.files("a/b/c"), command.REPORTS)

    def test_folder_below_a_file(self):
        run = self.msrun("--log_dir=net.py/logs", "net.py")
        self.assert_rejected(run, 3)
        self.assertIn("Not a directory", run.errors()[0])

    def test_folder_of_the_system(self):
        run = self.msrun("--log_dir=/proc/drydock", "net.py")  # refused to root, too
        self.assert_rejected(run, 3)
        self.assertIn("/proc/drydock", run.errors()[0])


class StandardOutputTest(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.write("net.py", command.network("((2, 4), (4, 1))"))

    def answer_into(self, stdout):
        done = subprocess.run(self.command("--json", "--log_dir=out", "net.py"), cwd=self.folder, stdout=stdout,
                              stderr=subprocess.PIPE, timeout=command.SECONDS, env=command.environment(self.temporary))
        self.assertEqual(self.files("out"), command.REPORTS)
        self.assertEqual(self.report("summary.json", "out")["verdict"], "ok")
        return command.Run(done.returncode, "", done.stderr.decode())

    def test_reader_that_leaves_early(self):
        """`msrun ... | head`, with a reader that is gone before the first byte."""
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as stdout:
            self.assert_accepted(self.answer_into(stdout))

    def test_full_device_is_no_success(self):
        with open("/dev/full", "wb") as stdout:
            run = self.answer_into(stdout)
        self.assertEqual(run.status, 3)
        self.assertIn("stdout", run.err)
