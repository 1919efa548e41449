"""What goes wrong with one rank, under every front door: it ends with a status, it is killed (as the kernel kills for lack of memory),
it hangs until somebody stops the job, what started it is killed. Each time the first cause is named, nothing is left running, and the
rank's output is where that door has it."""

import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path

import command
import launch
import launch_mpirun_test

DRYDOCK = str(Path(command.MSRUN).with_name("drydock"))
PYTHON = "--python=" + sys.executable
# (words, log of rank 1 or "" for the console); two ranks of net.py behind them.
DOORS = {
    "msrun": ([command.MSRUN, PYTHON, "--worker_num=2", "--local_worker_num=2", "--rendezvous=launcher", "--join=True", "--log_dir=out"],
              "out/worker_1.log"),
    "torchrun's flags": ([command.MSRUN, PYTHON, "--standalone", "--nproc_per_node=2", "--rendezvous=launcher", "--log_dir=out"],
                         "out/worker_1.log"),
    "drydock mpirun": ([DRYDOCK, "mpirun", "-n", "2", "--output-filename", "out", "--rendezvous=launcher", sys.executable], "out/1/rank.1/stdout"),
    "drydock paddle-launch": ([DRYDOCK, "paddle-launch", PYTHON, "--nproc_per_node=2", "--log_dir=out"], "out/workerlog.1"),
}
OPEN_MPI = "Open MPI's mpirun"  # a launcher for each rank; mpirun has a status of its own, and shows what they say
if not launch_mpirun_test.REASON:
    DOORS[OPEN_MPI] = (["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", command.MSRUN, PYTHON, "--rendezvous=launcher",
                        "--log_dir=out"], "out/worker_1.log")
NET = """import os, signal, sys, time
rank = next(os.environ[name] for name in ("PADDLE_TRAINER_ID", "OMPI_COMM_WORLD_RANK", "RANK") if name in os.environ)
print("started", rank, flush=True)
if rank == "1":
    %s
time.sleep(600)
"""


class FrontDoorsTest(launch.LaunchTest):
    def begin_at(self, door, what):
        self.write("net.py", NET % what)
        words, self.rank_log = DOORS[door]
        self.own_status = door != OPEN_MPI
        place = [] if self.own_status else ["--master_port=%d" % launch.free_port()]
        process = subprocess.Popen([*words, *place, "net.py"], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True, env=self.variables(TMPDIR="/tmp"))
        self.addCleanup(self.finish, process)
        return process

    def wait_for_ranks(self):
        logs = [self.rank_log, self.rank_log.replace("1", "0") if "1/rank" not in self.rank_log else "out/1/rank.0/stdout"]
        self.assertTrue(launch.wait_until(lambda: all("started" in self.log(name) for name in logs)))

    def ended(self, process):
        err = process.communicate(timeout=launch.SECONDS)[1]
        self.assertTrue(self.own_status or launch.wait_until(lambda: not self.marked()), "processes are left: " + err)
        self.assertEqual(self.marked(), [], err)
        return process.returncode, err

    def assert_status(self, status, expected, err):
        self.assertTrue(status == expected if self.own_status else status != 0, (status, err))

    def each(self):
        for door in DOORS:
            with self.subTest(door=door):
                for path in sorted((self.folder / "out").rglob("*"), reverse=True):
                    path.rmdir() if path.is_dir() else path.unlink()
                yield door

    @staticmethod
    def launcher_of_rank_1(mpirun):
        children = Path("/proc/%d/task/%d/children" % (mpirun, mpirun)).read_text().split()
        found = [int(pid) for pid in children if b"OMPI_COMM_WORLD_RANK=1" in Path("/proc/%s/environ" % pid).read_bytes().split(b"\0")]
        return found[0]

    def test_rank_that_ends_with_a_status(self):
        for door in self.each():
            status, err = self.ended(self.begin_at(door, "print('cause', flush=True); sys.exit(3)"))
            self.assert_status(status, 1, err)
            self.assertRegex(err, r"first: rank 1 \(\S+, pid \d+\) ended with exit status 3\n")
            self.assertEqual(self.log(self.rank_log), "started 1\ncause\n")

    def test_rank_that_is_killed_as_for_lack_of_memory(self):
        for door in self.each():
            status, err = self.ended(self.begin_at(door, "os.kill(os.getpid(), signal.SIGKILL)"))
            self.assert_status(status, 1, err)
            self.assertRegex(err, r"error\[RANK_SIGNALLED\]: rank 1 .* ended with signal KILL \(9\); hint: probably out of memory")
            self.assertEqual(self.log(self.rank_log), "started 1\n")

    def test_rank_that_hangs_until_the_job_is_stopped(self):
        """It does not mind SIGTERM either; a second signal skips the grace."""
        for door in self.each():
            process = self.begin_at(door, "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    print('deaf', flush=True)\n    time.sleep(600)")
            self.assertTrue(launch.wait_until(lambda: "deaf" in self.log(self.rank_log)))
            while process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(0.3)
                except subprocess.TimeoutExpired:
                    pass
            status, err = self.ended(process)
            self.assert_status(status, 143, err)
            if self.own_status:  # mpirun shows nothing any more when it was told to stop
                self.assertIn("error[STOPPED]: stopped by signal TERM", err)
            self.assertEqual(self.log(self.rank_log), "started 1\ndeaf\n")

    def test_launcher_that_is_killed(self):
        for door in self.each():
            process = self.begin_at(door, "pass")
            self.wait_for_ranks()
            process.kill()
            process.communicate(timeout=launch.SECONDS)
            self.assertTrue(launch.wait_until(lambda: not self.marked()), "processes are left")
            self.assertEqual(self.log(self.rank_log), "started 1\n")

    @unittest.skipIf(launch_mpirun_test.REASON, launch_mpirun_test.REASON)
    def test_launcher_of_another_rank_that_is_killed(self):
        process = self.begin_at(OPEN_MPI, "pass")
        self.wait_for_ranks()
        os.kill(self.launcher_of_rank_1(process.pid), signal.SIGKILL)
        status, err = self.ended(process)
        self.assertNotEqual(status, 0, err)
        self.assertIn("Killed", err)  # by mpirun, which ends the other launcher
        self.assertEqual(self.log(self.rank_log), "started 1\n")


if __name__ == "__main__":
    unittest.main()
