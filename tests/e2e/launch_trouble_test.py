"""Jobs whose surroundings fail them: full disks, limits, removed folders, ranks that must be started again."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

import command
import launch

FAIL_TWICE = '''import os, sys
count = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
print("attempt", count, flush=True)
if os.environ["RANK"] == "1" and count < 2:
    sys.exit(3)
'''


class RestartTest(launch.LaunchTest):
    def test_r24_rank_is_started_again(self):
        self.write("fail.py", FAIL_TWICE)
        begin = time.monotonic()
        run = self.launch(2, "--rendezvous=launcher", "--max_restarts=2", "--tag_output", "fail.py")
        self.assertEqual(run.status, 0, run.err)
        self.assertGreaterEqual(time.monotonic() - begin, 3)  # 1 s, then 2 s
        self.assertEqual([self.log("worker_1%s.log" % attempt) for attempt in ("", ".r1", ".r2")],
                         ["attempt 0\n", "attempt 1\n", "attempt 2\n"])
        self.assertEqual(self.log("worker_0.log"), "attempt 0\n")
        self.assertNotIn("worker_0.r1.log", self.files("."))
        self.assertIn("[1] attempt 2", run.out)
        self.assertRegex(run.err, r"rank 1 .* started again in 2 s \(2 of 2\)")

    def test_r24_rank_that_fails_too_often(self):
        self.write("fail.py", FAIL_TWICE)
        run = self.launch(2, "--rendezvous=launcher", "--max_restarts=1", "fail.py")
        self.assertEqual(run.status, 1, run.err)
        self.assertIn("worker_1.r1.log", run.err)
        ranks = json.loads(self.log("msrun_status.json"))["ranks"]
        self.assertEqual([rank["restarts"] for rank in ranks], [0, 1])

    def test_r24_stop_while_a_rank_waits(self):
        self.write("fail.py", FAIL_TWICE + "import time\ntime.sleep(600)\n")
        job = self.begin(2, "--rendezvous=launcher", "--max_restarts=9", "fail.py")
        self.assertTrue(launch.wait_until(lambda: "attempt 1" in self.log("worker_1.r1.log")))
        job.send_signal(signal.SIGTERM)
        self.assertEqual(job.wait(launch.SECONDS), 143)
        self.assertEqual(self.marked(), [])

    def test_r24_mindspore_needs_recovery(self):
        self.write("net.py", "import mindspore\n")
        run = self.launch(2, "--max_restarts=1", "net.py")
        self.assert_refused(run, 2, "USAGE")
        self.assertIn("MS_ENABLE_RECOVERY=1", run.err)


class SurroundingsTest(launch.LaunchTest):
    def test_r51_log_folder_removed_while_running(self):
        self.write("remove.py", "import shutil\nprint('before', flush=True)\nshutil.rmtree('out')\nprint('after')\n")
        run = self.launch(1, "--log_dir=out", "remove.py")
        self.assertEqual(run.status, 0, run.err)
        self.assertIn("before\nafter\n", run.out)  # the log is still open
        self.assertRegex(run.err, r"'out/worker_0.log' was removed while the job ran")

    def namespace(self, script):
        """Runs a shell script with a mount table of its own."""
        words = ["unshare", "-Urm", "bash", "-c", script]
        tried = subprocess.run(words[:2] + ["true"], stderr=subprocess.PIPE, check=False)
        if tried.returncode != 0:
            self.skipTest("no mount namespaces: " + tried.stderr.decode())
        done = subprocess.run(words, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=self.variables(), timeout=launch.SECONDS)
        self.assertEqual(self.marked(), [], done.stderr)
        return command.Run(done.returncode, done.stdout.decode(), done.stderr.decode())

    def test_r49_disk_that_fills_up(self):
        """64 KiB: little from the start, full when a rank has written; the job's own end counts."""
        (self.folder / "out").mkdir()
        self.write("fill.py", "import sys\ntry:\n    print('x' * 200000, flush=True)\nexcept OSError as full:\n"
                              "    sys.stderr = None\n    import os\n    os._exit(5)\n")
        words = self.words(1, "--rendezvous=launcher", "--log_dir=out", "--tail_worker_log=0", "fill.py")
        run = self.namespace("mount -t tmpfs -o size=64k none out && exec " + launch.shell(words))
        self.assertEqual(run.status, 1, run.err)
        self.assertIn("free in the log folder", run.err)
        self.assertIn("error[RANK_FAILED]", run.err)
        self.assertIn("exit status 5", run.err)
        self.assertRegex(run.err, r"warning.*msrun_status.json")
        self.assertIn("the disk of the log folder 'out' is full (0 B free), which may be why the rank failed", run.err)  # jobs10

    def test_r48_read_only_file_system(self):
        self.write("net.py", "print('must not run')\n")
        (self.folder / "out").mkdir()
        words = self.words(1, "--log_dir=out", "net.py")
        run = self.namespace("mount -t tmpfs -o ro none out && exec " + launch.shell(words))
        self.assert_refused(run, 3, "LOG_DIR")
        self.assertIn("Read-only file system", run.err)

    def test_r62_too_few_processes(self):
        """The limit counts all processes of a user, and root has none: a user of its own is needed."""
        if os.getuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("only root can become another user (setpriv)")
        self.write("net.py", "import time\ntime.sleep(600)\n")
        os.chmod(self.folder, 0o777)
        os.chmod(self.temporary, 0o777)
        user = 61234  # nobody's
        words = ["setpriv", "--reuid=%d" % user, "--clear-groups",
                 *self.words(16, "--rendezvous=launcher", "--log_dir=out", "net.py")]
        done = subprocess.run(words, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=self.variables(), timeout=launch.SECONDS,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (16, 16)))
        # 16 processes: msrun's two with a few threads, then some ranks. Those ran, so it is no refusal (jobs9).
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, rb"error\[START_FAILED\]: rank \d+ could not be started: cannot start one more process: .*; "
                                      rb"\d+ of 16 ranks of this node were running and were ended; hint: raise the limit")
        self.assertEqual(self.marked(), [])

    def test_r64_killed_rank_may_be_out_of_memory(self):
        self.write("die.py", "import os\nos.kill(os.getpid(), 9)\n")
        run = self.launch(1, "--rendezvous=launcher", "die.py")
        self.assertEqual(run.status, 1, run.err)
        self.assertIn("probably out of memory", run.err)


if __name__ == "__main__":
    sys.exit(unittest.main())
