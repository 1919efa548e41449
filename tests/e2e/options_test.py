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


class NearlyRightTest(command.CommandTest):
    """Command lines of the first minutes that are off by a little."""

    def setUp(self):
        super().setUp()
        self.write("net.py", command.network("((2, 4), (4, 1))"))

    def test_script_named_in_another_case(self):
        run = self.msrun("--log_dir=out", "Net.py")
        self.assert_rejected(run, 3)
        self.assertEqual(run.hint(), "did you mean 'net.py'?")

    def test_signs_of_a_text_processor(self):
        run = self.msrun("\u2014worker_num\uff1d8", "net.py")
        self.assert_rejected(run, 3)
        self.assertEqual(run.hint(), "write the signs of a keyboard: --worker_num=8")

    def test_variable_of_nearly_the_name_and_more_local_ranks_than_ranks(self):
        run = self.msrun("--worker_num=8", "--local_worker_num=16", "--log_dir=out", "net.py", DRYDOCK_LOGDIR="elsewhere")
        self.assertEqual(run.status, 0, run.err)
        self.assertIn("DRYDOCK_LOGDIR is not read; did you mean DRYDOCK_LOG_DIR?", run.err)
        self.assertIn("--local_worker_num=16 is more than --worker_num=8", run.err)


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


class VerifyTest(command.CommandTest):
    def test_a_job_that_cannot_be_run_on_numbers_is_no_success(self):
        """More than 64 ranks are not."""
        self.write("net.py", command.network("((2, 4), (4, 1))"))
        run = self.msrun("--verify", "--worker_num=128", "--log_dir=out", "net.py")
        self.assertEqual(run.status, 8, run.err)
        self.assertIn("the job cannot be run on numbers", run.err)
        self.assertEqual(self.report("summary.json", "out")["verdict"], "ok")
        self.assertEqual(self.msrun("--verify", "--worker_num=8", "--log_dir=out", "net.py").status, 0)


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
