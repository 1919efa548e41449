"""Real Paddle jobs (the CPU wheel) under `drydock paddle-launch` and under plain msrun: collective sums over gloo, and
two parameter servers with two trainers. DRYDOCK_PADDLE_PYTHON names an interpreter that has the package,
DRYDOCK_PADDLE_SERVERS_PYTHON one with a release whose wheel has parameter servers."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

import mindspore_job

sys.path.append(str(Path(__file__).resolve().parents[1] / "e2e"))
from etcd import ETCD, Etcd  # noqa: E402  beside the tests of whole commands

PYTHON = os.environ.get("DRYDOCK_PADDLE_PYTHON", "")
SERVERS_PYTHON = os.environ.get("DRYDOCK_PADDLE_SERVERS_PYTHON", "")
HERE = Path(__file__).resolve().parent
SECONDS = 300  # importing the package alone takes many seconds on a busy machine


class LaunchTest(mindspore_job.JobTest):
    def run_job(self, *words, **variables):
        done = subprocess.run(list(map(str, words)), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=SECONDS, env=dict(os.environ, **variables), check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:])
        return done.stdout

    def launch(self, *words, python=PYTHON, **variables):
        return self.run_job(mindspore_job.BUILD / "bin/drydock", "paddle-launch", "--python=" + python, *words, **variables)


@unittest.skipUnless(SERVERS_PYTHON, "no interpreter with a Paddle that has parameter servers (DRYDOCK_PADDLE_SERVERS_PYTHON)")
class PaddleServersTest(LaunchTest):
    def test_page_003_parameter_servers_train(self):
        """--server_num=2 --worker_num=2: a network without noise, so that the loss (4 to 8 in the beginning) goes to nothing."""
        self.launch("--server_num=2", "--worker_num=2", HERE / "paddle_train_servers.py", python=SERVERS_PYTHON)
        for index in (0, 1):
            self.assertIn("SERVER %d of 2" % index, self.text("log/serverlog.%d" % index))
            first, last = map(float, re.search(r"^TRAINER %d of 2 (\S+) (\S+)$" % index, self.text("log/workerlog.%d" % index), re.M).groups())
            self.assertGreater(first, 0.1)
            self.assertLess(last, 1e-3)


@unittest.skipUnless(PYTHON, "no interpreter with PaddlePaddle (DRYDOCK_PADDLE_PYTHON)")
class PaddleTest(LaunchTest):
    def assert_sums(self, pattern):
        for rank in (0, 1):
            self.assertIn("SUM %d of 2 is 3" % rank, self.text(pattern % rank))  # 1 + 2

    def test_page_003_collective(self):
        """--gpus 0,1 train.py: two ranks, over gloo where there are no devices"""
        out = self.launch("--gpus", "0,1", HERE / "paddle_sum.py")
        self.assert_sums("log/workerlog.%d")
        self.assertIn("SUM 0 of 2", out)  # rank 0 is shown, the others are not
        self.assertNotIn("SUM 1 of 2", out)
        lines = self.text("log/endpoints.log").splitlines()
        self.assertEqual((lines[0].strip(), len(lines)), ("PADDLE_TRAINER_ENDPOINTS:", 3))

    def test_plain_msrun_sees_the_import(self):
        self.run_job(mindspore_job.MSRUN, "--worker_num=2", "--local_worker_num=2", "--join=True", "--python=" + PYTHON,
                     "--master_port=%d" % self.port, HERE / "paddle_sum.py")
        self.assert_sums("worker_%d.log")

    def test_page_003_parameter_servers(self):
        (self.folder / "ready").mkdir()
        self.launch("--server_num=2", "--worker_num=2", HERE / "paddle_servers.py", READY=str(self.folder / "ready"))
        for index in (0, 1):
            self.assertIn("SERVER %d of 2" % index, self.text("log/serverlog.%d" % index))
            self.assertIn("TRAINER %d of 2 2" % index, self.text("log/workerlog.%d" % index))

    @unittest.skipUnless(ETCD, "there is no etcd (package etcd-server)")
    def test_page_003_elastic(self):
        """Two nodes add up over gloo; one is killed, the other goes on alone; it comes back, and both add up again."""
        (self.folder / "etcd").mkdir()
        etcd = Etcd(self.folder / "etcd")
        self.addCleanup(lambda: etcd.stop())

        port = mindspore_job.free_port(64)  # a further one for each round

        def node(number):
            return self.start([mindspore_job.BUILD / "bin/drydock", "paddle-launch", "--python=" + PYTHON, "--nproc_per_node=1",
                               "--elastic_server=127.0.0.1:%d" % etcd.port, "--job_id=job1", "--np=1:2", "--grace=2",
                               "--master_port=%d" % port, "--host=127.0.0.%d" % number, "--log_dir=node%d" % number,
                               HERE / "paddle_elastic.py"], "node%d.log" % number, PADDLE_ELASTIC_TTL="6", PADDLE_ELASTIC_TIMEOUT="3")

        first, second = node(2), node(3)
        for number in (2, 3):
            self.wait_text("node%d/workerlog.0" % number, "of 2 is 3")  # 1 + 2
        second.kill()
        second.wait()
        self.wait_text("node2/workerlog.0", "SUM 0 of 1 is 1")
        again = node(3)
        for number in (2, 3):
            self.wait_text("node%d/workerlog.0" % number, "of 2 is 3", count=2)
        (self.folder / "done").touch()
        for process in (first, again):
            self.assertEqual(process.wait(SECONDS), 0, self.text(process.log_name)[-3000:])


if __name__ == "__main__":
    unittest.main()
