"""MindSpore's ranks by mpirun's habits: `drydock mpirun` on one machine, and msrun under Open MPI. The CPU wheel has no
library of MPI, so `mpirun python net.py` alone cannot join its ranks; both of these can."""

import re
import shutil
import subprocess
import unittest
from pathlib import Path

import mindspore_job

BIN = Path(mindspore_job.MSRUN).parent


@mindspore_job.NEEDS_MINDSPORE
class MpirunTest(mindspore_job.JobTest):
    def run_all(self, logs, *words):
        """What was printed by a job that ends well, but for MindSpore's own clean-up, which crashes now and then."""
        printed = []

        def play():
            done = subprocess.run(list(map(str, words)), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=mindspore_job.SECONDS, check=False)
            told = self.crash_behind_the_end(done.stdout, logs) if done.returncode else ""
            if not told:
                self.assertEqual(done.returncode, 0, done.stdout[-3000:])
                printed.append(done.stdout)
            return told
        self.try_again(play)
        return printed[0]

    def results(self, text):
        return sorted(re.findall(r"RESULT (\d+) 2 \[3.0, 3.0\]", text))

    def test_page_002(self):
        """mpirun -n 8 --output-filename log_output --merge-stderr-to-stdout python net.py, with two ranks"""
        self.run_all(["log_output/1/rank.%d/stdout" % rank for rank in (0, 1)], BIN / "drydock", "mpirun", "-n", 2, "--output-filename", "log_output", "--merge-stderr-to-stdout",
                     mindspore_job.PYTHON, mindspore_job.HERE / "allreduce.py")
        for rank in (0, 1):
            text = (Path(self.folder) / ("log_output/1/rank.%d/stdout" % rank)).read_text(errors="replace")
            self.assertEqual(self.results(text), [str(rank)])

    @unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun (package openmpi-bin)")
    def test_msrun_under_open_mpi(self):
        text = self.run_all(["worker_0.log", "worker_1.log"], "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", 2, BIN / "msrun",
                            "--master_port=%d" % mindspore_job.free_port(), "--python=" + mindspore_job.PYTHON,
                            mindspore_job.HERE / "allreduce.py")
        self.assertEqual(self.results(text), ["0", "1"])


if __name__ == "__main__":
    unittest.main()
