"""How jobs end: failing ranks, signals, a launcher that is killed. Nothing of a job may stay."""

import json
import os
import signal
import socket
import subprocess
import sys
import unittest

import launch

WAIT = '''import os, sys, time
print("started", flush=True)
while True:
    time.sleep(0.05)
'''
STUBBORN = '''import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("started", flush=True)
while True:
    time.sleep(0.05)
'''
# A rank whose child left its session, as loaders do.
FAMILY = '''import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("started", flush=True)
time.sleep({seconds})
'''


class FailureTest(launch.LaunchTest):
    def fail(self, text, ranks=4, *flags):
        self.write("fail.py", text)
        return self.launch(ranks, "--rendezvous=launcher", *flags, "fail.py")

    def test_r26_first_failing_rank_is_named_with_the_end_of_its_log(self):
        run = self.fail('''import os, time
for i in range(30):
    print("step", i, flush=True)
if os.environ["RANK"] == "2":
    raise ValueError("boom")
time.sleep(600)
''')
        self.assertEqual(run.status, 1, run.err)
        self.assertRegex(run.err, r"first: rank 2 \(\S+, pid \d+\) ended with exit status 1\n")
        shown = [line[6:] for line in run.err.splitlines() if line.startswith("    | ")]
        self.assertEqual(len(shown), 20)
        self.assertEqual(shown[-1], "ValueError: boom")
        self.assertIn("step 29", shown)
        self.assertIn("ended by msrun: rank 0, rank 1, rank 3\n", run.err)
        self.assertRegex(run.err, r"\nmsrun: error\[RANK_FAILED\]: rank 2 .*hint: .*worker_2\.log\n$")

    def test_g4_status_file_says_the_same(self):
        run = self.fail("import os, sys, time\nsys.exit(7) if os.environ['RANK'] == '1' else time.sleep(600)\n", 2)
        self.assertEqual(run.status, 1, run.err)
        status = json.loads(self.log("msrun_status.json"))
        self.assertEqual((status["state"], status["code"], status["exit_status"]), ("failed", "RANK_FAILED", 1))
        self.assertEqual([(rank["end"], rank["status"]) for rank in status["ranks"]],
                         [("ended-by-us", 128 + signal.SIGTERM), ("failed", 7)])

    def test_r64_rank_killed_from_outside(self):
        run = self.fail("import os, signal, time\nif os.environ['RANK'] == '0':\n"
                        "    os.kill(os.getpid(), signal.SIGKILL)\ntime.sleep(600)\n", 2)
        self.assertEqual(run.status, 1)
        self.assertRegex(run.err, r"error\[RANK_SIGNALLED\]: rank 0 .* signal KILL \(9\).*out of memory")

    def test_r25_rank_that_ends_well_early_is_no_failure(self):
        run = self.fail("import os, time\ntime.sleep(0.3 * int(os.environ['RANK']))\n", 2)
        self.assertEqual(run.status, 0, run.err)

    def test_r59_rank_that_ignores_sigterm(self):
        run = self.fail("import os, signal, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                        "time.sleep(0.5)\nsys.exit(3) if os.environ['RANK'] == '0' else time.sleep(600)\n",
                        2, "--grace=1")
        self.assertEqual(run.status, 1)
        self.assertIn("ended by msrun: rank 1\n", run.err)

    def test_r60_descendants_in_other_sessions_are_ended(self):
        self.write("family.py", FAMILY.format(seconds=0))
        run = self.launch(2, "--rendezvous=launcher", "--grace=1", "family.py")
        self.assertEqual(run.status, 0, run.err)
        self.assertIn("LEFTOVER", run.err)

    def test_helper_of_a_rank_that_ended_well_may_finish_jobs16(self):
        """An upload in the background: in the rank's own group, and in a session of its own."""
        helper = "while not os.path.exists('go'): time.sleep(0.02)\nopen('uploaded' + sys.argv[1], 'w').close()"
        self.write("upload.py", "import subprocess, sys\nfor i in '01':\n    subprocess.Popen([sys.executable, '-c', %r, i], "
                                "start_new_session=i == '1')\n" % ("import os, sys, time\n" + helper))
        process = self.begin(1, "--rendezvous=launcher", "--grace=50", "upload.py")
        self.assertIn(b"have 50 s (--grace) to end by themselves", process.stderr.readline())
        self.write("go", "")
        err = process.communicate(timeout=launch.SECONDS)[1]
        self.assertEqual((process.returncode, self.marked()), (0, []), err)
        self.assertNotIn(b"LEFTOVER", err)
        self.assertEqual([name for name in self.files(".") if name.startswith("uploaded")], ["uploaded0", "uploaded1"])

    def test_r19_rank_that_ends_before_it_joined(self):
        self.write("early.py", "print('nothing to do')\n")
        run = self.launch(2, "--rendezvous=worker", "early.py")
        self.assertEqual(run.status, 4, run.err)
        self.assertRegex(run.err, r"error\[EXIT_BEFORE_JOIN\]: rank \d ")

    def test_r19_rank_that_fails_before_it_joined(self):
        self.write("early.py", "import nothing_of_that_name\n")
        run = self.launch(2, "--rendezvous=worker", "early.py")
        self.assertEqual(run.status, 1, run.err)
        self.assertIn("nothing_of_that_name", run.err)

    def test_script_that_never_joins_is_no_failure_by_itself(self):
        self.write("plain.py", "print('plain')\n")
        run = self.launch(2, "plain.py")
        self.assertEqual(run.status, 0, run.err)

    def test_g1_cluster_that_does_not_form(self):
        self.write("wait.py", WAIT)
        run = self.launch(2, "--rendezvous=worker", "--cluster_time_out=1", "wait.py")
        self.assertEqual(run.status, 4, run.err)
        self.assertIn("msrun: error[BUILD_TIMEOUT]: ", run.err)


class SignalTest(launch.LaunchTest):
    def start(self, ranks=3, text=WAIT, *flags):
        self.write("wait.py", text)
        for rank in range(ranks):  # of an earlier job of the same test
            self.write("worker_%d.log" % rank, "")
        process = self.begin(ranks, "--rendezvous=launcher", *flags, "wait.py")
        self.wait_for_logs(ranks, "started")
        return process

    def ended(self, process, seconds=launch.SECONDS):
        out, err = process.communicate(timeout=seconds)
        self.assertEqual(self.marked(), [], err)
        return process.returncode, err.decode()

    def test_r55_interrupt_terminate_and_hangup(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number.name):
                process = self.start()
                process.send_signal(number)
                status, err = self.ended(process)
                self.assertEqual(status, 128 + number, err)
                self.assertIn("msrun: error[STOPPED]: ", err)

    def test_r55_quit_reaches_the_ranks(self):
        process = self.start(2, "import signal, time\nsignal.signal(signal.SIGQUIT, lambda *_: print('quit', flush=True))\n"
                             "print('started', flush=True)\nwhile True:\n    time.sleep(0.05)\n")
        process.send_signal(signal.SIGQUIT)
        self.assertEqual(self.ended(process)[0], 128 + signal.SIGQUIT)
        self.assertIn("quit", self.log("worker_0.log"))

    def test_r55_second_signal_skips_the_grace(self):
        process = self.start(2, STUBBORN, "--grace=600")
        process.send_signal(signal.SIGTERM)
        self.assertTrue(launch.wait_until(lambda: process.poll() is None))
        process.send_signal(signal.SIGTERM)
        # Both may arrive as one; then the third is the second.
        while process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(0.2)
            except subprocess.TimeoutExpired:
                pass
        self.assertEqual(self.ended(process)[0], 128 + signal.SIGTERM)

    def test_r55_hangup_that_was_ignored_stays_ignored(self):
        self.write("wait.py", WAIT)
        process = self.begin(1, "--rendezvous=launcher", "wait.py",
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.wait_for_logs(1, "started")
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.ended(process)[0], 130)

    def test_r56_ranks_have_the_grace_to_save_their_work(self):
        process = self.start(2, "import os, signal, sys, time\ndef save(*_):\n    time.sleep(0.3)\n"
                             "    open('saved' + os.environ['RANK'], 'w').close()\n    sys.exit(0)\n"
                             "signal.signal(signal.SIGTERM, save)\nprint('started', flush=True)\n"
                             "while True:\n    time.sleep(0.05)\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.ended(process)[0], 143)
        self.assertEqual([name for name in self.files(".") if name.startswith("saved")], ["saved0", "saved1"])

    def test_r57_launcher_that_is_killed(self):
        process = self.start(3, FAMILY.format(seconds=600))
        self.assertGreaterEqual(len(self.marked()), 3 * 3 + 1)
        process.kill()
        process.communicate()
        self.assertTrue(launch.wait_until(lambda: not self.marked()), "processes are left")
        self.assertEqual(json.loads(self.log("msrun_status.json"))["state"], "launcher-died")

    def test_descendants_without_our_environment_end_with_a_killed_launcher_jobs11(self):
        """Either of msrun's two processes is killed: the other one is an ancestor of everything and ends it."""
        for victim in ("outer", "inner"):
            with self.subTest(victim=victim):
                # What others see of a process that has no environment: its argument.
                marker = "600.%d" % (os.getpid() * 10 + (victim == "inner"))
                process = self.start(1, "import subprocess, time\nsubprocess.Popen(['env', '-i', 'setsid', 'sleep', '%s'])\n"
                                        "while not subprocess.run(['pgrep', '-fx', 'sleep %s'], capture_output=True).stdout:\n"
                                        "    time.sleep(0.02)\nprint('started', flush=True)\ntime.sleep(600)\n" % (marker, marker))
                inner = next(pid for pid in self.marked() if self.facts(pid)[1] == str(process.pid))
                with open("/proc/%d/cmdline" % inner, "rb") as file:
                    self.assertIn(b"msrun: job of process %d" % process.pid, file.read())
                os.kill(process.pid if victim == "outer" else inner, signal.SIGKILL)
                err = process.communicate(timeout=launch.SECONDS)[1]
                self.assertTrue(launch.wait_until(lambda: not self.marked() and not self.sleeping(marker)), "processes are left")
                self.assertEqual(json.loads(self.log("msrun_status.json"))["state"], "launcher-died")
                if victim == "inner":
                    self.assertEqual(process.returncode, 128 + signal.SIGKILL)
                    self.assertIn(b"error[STOPPED]: msrun's own process %d ended with signal KILL (9)" % inner, err)

    @staticmethod
    def sleeping(marker):
        return subprocess.run(["pgrep", "-fx", "sleep " + marker], capture_output=True, check=False).stdout

    def test_signal_for_all_processes_of_a_job_counts_once(self):
        """As scancel and a terminal of containers send them: to the launcher's two processes at once."""
        process = self.start(1, "import signal, sys, time\ndef save(*_):\n    time.sleep(0.5)\n    open('saved', 'w').close()\n"
                                "    sys.exit(0)\nsignal.signal(signal.SIGTERM, save)\nprint('started', flush=True)\n"
                                "while True:\n    time.sleep(0.05)\n")
        inner = next(pid for pid in self.marked() if self.facts(pid)[1] == str(process.pid))
        for pid in (process.pid, inner):
            os.kill(pid, signal.SIGTERM)
        self.assertEqual(self.ended(process)[0], 143)
        self.assertTrue((self.folder / "saved").exists(), "the grace was skipped")

    def test_r57_launcher_that_is_killed_with_stubborn_ranks(self):
        process = self.start(2, STUBBORN)
        process.kill()
        process.communicate()
        self.assertTrue(launch.wait_until(lambda: not self.marked()), "processes are left")

    def test_g13_launcher_at_rest_uses_no_processor_time(self):
        process = self.start(2)
        self.assertTrue(launch.wait_until(lambda: self.ticks_of_a_second(process) <= 1))
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.ended(process)[0], 130)

    def ticks_of_a_second(self, process):
        """What both of msrun's processes use in a second of nothing; what they began before may still be under way in the first one."""
        pids = [process.pid] + [pid for pid in self.marked() if self.facts(pid)[1] == str(process.pid)]
        before = sum(map(self.ticks, pids))
        try:
            process.wait(1.0)
        except subprocess.TimeoutExpired:
            pass
        self.assertIsNone(process.poll())
        return sum(map(self.ticks, pids)) - before

    def test_r55_stop_and_continue(self):
        process = self.start(1)
        rank = next(pid for pid in self.marked() if pid != process.pid and self.is_rank(pid))
        process.send_signal(signal.SIGTSTP)
        self.assertTrue(launch.wait_until(lambda: self.state(rank) == "T" and self.state(process.pid) == "T"))
        process.send_signal(signal.SIGCONT)
        self.assertTrue(launch.wait_until(lambda: self.state(rank) != "T"))
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.ended(process)[0], 130)

    @staticmethod
    def facts(pid):
        """Fields of a process from the third on."""
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()

    def state(self, pid):
        return self.facts(pid)[0]

    def ticks(self, pid):
        """Processor time in clock ticks."""
        return sum(int(word) for word in self.facts(pid)[11:13])

    @staticmethod
    def is_rank(pid):
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            command = file.read()
        return b"\0wait.py" in command and b"--join" not in command


class SchedulerPortTest(launch.LaunchTest):
    def test_g6_port_is_free_again(self):
        self.write("plain.py", "print('plain')\n")
        port = launch.free_port()
        for _ in range(3):
            self.assertEqual(self.launch(2, "--master_port=%d" % port, "plain.py").status, 0)
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", port))


class DetachedTest(launch.LaunchTest):
    def test_r58_ranks_go_on_without_their_launcher(self):
        self.write("later.py", WAIT)
        run = self.launch(2, "later.py", join=False)
        self.assertEqual(run.status, 0, run.err)
        self.wait_for_logs(2, "started")
        lines = [line.split() for line in self.log("msrun.pids").splitlines() if not line.startswith("#")]
        self.assertEqual([line[0] for line in lines], ["scheduler", "worker", "worker"])
        self.assertEqual(sorted(int(line[1]) for line in lines), sorted(self.marked()))
        for line in lines:
            with open("/proc/%s/stat" % line[1], encoding="ascii", errors="replace") as file:
                self.assertEqual(file.read().rsplit(")", 1)[1].split()[19], line[2])
        self.assertTrue((self.folder / "scheduler.log").exists())

    def test_r58_other_scripts_need_no_scheduler(self):
        self.write("later.py", "print('done', flush=True)\n")
        self.assertEqual(self.launch(2, "--rendezvous=launcher", "later.py", join=False).status, 0)
        self.wait_for_logs(2, "done")
        self.assertTrue(launch.wait_until(lambda: not self.marked()))

    def test_r58_failed_start_leaves_nothing(self):
        with socket.socket() as holder:
            holder.bind(("127.0.0.1", 0))
            holder.listen()
            self.write("later.py", WAIT)
            run = self.launch(2, "--master_port=%d" % holder.getsockname()[1], "later.py", join=False)
        self.assert_refused(run, 3, "PORT_IN_USE")
        self.assertEqual(self.marked(), [])


if __name__ == "__main__":
    sys.exit(unittest.main())
