"""What goes wrong with one rank, under every front door: it ends with a status, it is killed (as the kernel kills for lack of memory),
it hangs until somebody stops the job, its launcher is killed. Each time the first cause is named, nothing is left running, and the
rank's output is where that door has it."""

import signal
import subprocess
import sys
import unittest
from pathlib import Path

import command
import launch

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
        process = subprocess.Popen([*words, "net.py"], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True, env=self.variables())
        self.addCleanup(self.finish, process)
        return process

    def wait_for_ranks(self):
        logs = [self.rank_log, self.rank_log.replace("1", "0") if "1/rank" not in self.rank_log else "out/1/rank.0/stdout"]
        self.assertTrue(launch.wait_until(lambda: all("started" in self.log(name) for name in logs)))

    def ended(self, process):
        err = process.communicate(timeout=launch.SECONDS)[1]
        self.assertEqual(self.marked(), [], err)
        return process.returncode, err

    def each(self):
        for door in DOORS:
            with self.subTest(door=door):
                for path in sorted((self.folder / "out").rglob("*"), reverse=True):
                    path.rmdir() if path.is_dir() else path.unlink()
                yield door

    def test_rank_that_ends_with_a_status(self):
        for door in self.each():
            status, err = self.ended(self.begin_at(door, "print('cause', flush=True); sys.exit(3)"))
            self.assertEqual(status, 1, err)
            self.assertRegex(err, r"first: rank 1 \(\S+, pid \d+\) ended with exit status 3\n")
            self.assertEqual(self.log(self.rank_log), "started 1\ncause\n")

    def test_rank_that_is_killed_as_for_lack_of_memory(self):
        for door in self.each():
            status, err = self.ended(self.begin_at(door, "os.kill(os.getpid(), signal.SIGKILL)"))
            self.assertEqual(status, 1, err)
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
            self.assertEqual(status, 143, err)
            self.assertIn("error[STOPPED]: stopped by signal TERM", err)

    def test_launcher_that_is_killed(self):
        for door in self.each():
            process = self.begin_at(door, "pass")
            self.wait_for_ranks()
            process.kill()
            process.wait()
            self.assertTrue(launch.wait_until(lambda: not self.marked()), "processes are left")
            self.assertEqual(self.log(self.rank_log), "started 1\n")


if __name__ == "__main__":
    unittest.main()
