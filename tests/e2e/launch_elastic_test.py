"""`drydock paddle-launch --elastic_server`: nodes come and go, with a real etcd. Each node is a launcher with a loopback
address of its own. Names end in what happens; real Paddle: tests/interop/paddle_test.py."""

import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import command
import launch
from etcd import ETCD, Etcd

DRYDOCK = str(Path(command.MSRUN).with_name("drydock"))
TTL = 4  # a node that is not heard of for so long is dead, also where the machine is very busy
# Each rank says where it is, then works until the file "done" is there.
TRAIN = """import os, sys, time
print("ROUND", *(os.environ[name] for name in ("DRYDOCK_ELASTIC_ROUND", "PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM")), flush=True)
%s
while not os.path.exists("done"):
    time.sleep(0.02)
"""


@unittest.skipUnless(ETCD, "there is no etcd (package etcd-server)")
class ElasticTest(launch.LaunchTest):
    @classmethod
    def setUpClass(cls):
        folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.etcd = Etcd(folder)
        cls.addClassCleanup(lambda: cls.etcd.stop())

    def setUp(self):
        super().setUp()
        self.write("train.py", TRAIN % "")

    def node(self, number, *flags, script=("train.py",), np="1:2", timeout=1):
        """Starts node 127.0.0.<number>, with logs in a folder of its own."""
        words = [DRYDOCK, "paddle-launch", "--python=" + sys.executable, "--elastic_server=127.0.0.1:%d" % self.etcd.port,
                 "--job_id=" + self.mark, "--np=" + np, "--host=127.0.0.%d" % number, "--log_dir=node%d" % number, "--grace=1",
                 "--nproc_per_node=1", "--master_port=%d" % self.port(), *flags, *script]
        process = subprocess.Popen(words, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   text=True, env=self.variables(PADDLE_ELASTIC_TTL=str(TTL), PADDLE_ELASTIC_TIMEOUT=str(timeout)))
        self.addCleanup(self.finish, process)
        return process

    def pair(self, **options):
        """Two nodes; the first one registers first."""
        first = self.node(2, **options)
        self.wait_for_node(2)
        return first, self.node(3, **options)

    def wait_for_node(self, number):
        wanted = "127.0.0.%d:6170" % number
        self.assertTrue(launch.wait_until(lambda: wanted in self.own_keys().values()))

    def own_keys(self):
        """What etcd has of this test's job."""
        return {key: value for key, value in (self.etcd.keys() or {}).items() if self.mark in key}

    def port(self):
        """The same for all nodes of a test; each round takes the next one."""
        self.first_port = getattr(self, "first_port", None) or launch.free_port(64)
        return self.first_port

    def rounds(self, number):
        """(round, rank, ranks) of node `number`, in order."""
        return [tuple(map(int, line.split()[1:])) for line in self.log("node%d/workerlog.0" % number).splitlines()
                if line.startswith("ROUND")]

    def wait_for_round(self, number, rank, ranks, after=0):
        """Until the newest round of a node is so and later than `after`; gives its number."""
        self.assertTrue(launch.wait_until(lambda: self.rounds(number) and self.rounds(number)[-1][1:] == (rank, ranks)
                                          and self.rounds(number)[-1][0] > after),
                        "node %d: %s" % (number, self.rounds(number)))
        return self.rounds(number)[-1][0]

    def complete(self, *processes):
        self.write("done", "")
        for process in processes:
            _, err = process.communicate(timeout=launch.SECONDS)
            self.assertEqual(process.returncode, 0, err)
        self.assertTrue(launch.wait_until(lambda: not self.marked()))
        self.assertEqual(self.own_keys(), {})  # the last one cleans up

    def test_join_leave_and_completion(self):
        first = self.node(2)
        self.wait_for_round(2, 0, 1)
        second = self.node(3)
        joined = self.wait_for_round(2, 0, 2)  # the first one keeps its rank
        self.wait_for_round(3, 1, 2)
        second.terminate()
        err = second.communicate(timeout=launch.SECONDS)[1]
        self.assertEqual(second.returncode, 143, err)
        self.assertIn("this node left '%s'" % self.mark, err)
        self.assertGreater(self.wait_for_round(2, 0, 1), joined)
        self.complete(first)

    def test_node_that_is_killed_and_comes_back(self):
        first, second = self.pair()
        self.wait_for_round(2, 0, 2)
        before = self.wait_for_round(3, 1, 2)
        second.kill()  # its launcher, which takes its ranks along; its lease runs out
        second.wait()
        self.wait_for_round(2, 0, 1)
        again = self.node(3)
        self.wait_for_round(3, 1, 2, before)
        self.complete(first, again)

    def test_fixed_number_waits_for_another_node(self):
        first, second = self.pair(np="2")
        self.wait_for_round(2, 0, 2)
        spare = self.node(4, np="2")
        self.wait_for_node(4)
        first.terminate()
        first.communicate(timeout=launch.SECONDS)
        self.wait_for_round(4, 0, 2)  # in the hole
        self.wait_for_round(3, 1, 2)
        self.complete(second, spare)

    def test_scale_changes_the_number(self):
        first = self.node(2, np="1")
        self.wait_for_round(2, 0, 1)
        refused = self.node(3, np="2")
        err = refused.communicate(timeout=launch.SECONDS)[1]
        self.assertEqual(refused.returncode, 2, err)
        self.assertIn("runs something else", err)
        second = self.node(3, "--scale=1", np="1")
        self.wait_for_round(2, 0, 2)
        self.wait_for_round(3, 1, 2)
        self.complete(first, second)

    def test_etcd_lost_in_mid_job(self):
        first, second = self.pair()
        before = self.wait_for_round(2, 0, 2)
        self.wait_for_round(3, 1, 2)
        self.etcd.stop()
        self.assertIn("the ranks go on without it", self.line_with(first, "etcd at"))
        self.etcd.start()
        self.line_with(first, "etcd answers again")
        time.sleep(TTL + 1)  # the fault itself would show by now: leases have run out
        self.assertEqual(self.rounds(2)[-1][0], before)
        self.complete(first, second)

    def line_with(self, process, text):
        for line in process.stderr:
            if text in line:
                return line
        self.fail("no line with " + text)

    def test_failing_rank_is_started_again_then_named(self):
        self.write("train.py", TRAIN % "print('cause', flush=True)\nsys.exit(3)")
        node = self.node(2, "--max_restart=1", np="1")
        err = node.communicate(timeout=launch.SECONDS)[1]
        self.assertEqual(node.returncode, 1, err)
        self.assertRegex(err, r"error\[RANK_FAILED\]: 127.0.0.2:6170: rank 0 \(.*\) ended with exit status 3; the job was started again 1 times")
        self.assertEqual(len(self.rounds(2)), 2)
        self.assertEqual(self.marked(), [])

    def test_rank_asks_for_another_round(self):
        """Status 101, Paddle's ELASTIC_EXIT_CODE: no failure, and not counted."""
        self.write("train.py", TRAIN % "if not os.path.exists('asked'):\n    open('asked', 'w').close()\n    sys.exit(101)")
        node = self.node(2, "--max_restart=0", np="1")
        self.assertTrue(launch.wait_until(lambda: len(self.rounds(2)) == 2))
        self.complete(node)

    def test_two_jobs_with_one_id_and_stale_ids(self):
        first = self.node(2)
        self.wait_for_round(2, 0, 1)
        self.write("other.py", "")
        for flags, what in (({"script": ("other.py",)}, "runs something else"), ({"np": "1:3"}, "runs something else")):
            other = self.node(3, **flags)
            err = other.communicate(timeout=launch.SECONDS)[1]
            self.assertEqual(other.returncode, 2, err)
            self.assertIn(what, err)
        same = self.node(2)
        err = same.communicate(timeout=launch.SECONDS)[1]
        self.assertEqual(same.returncode, 2, err)
        self.assertIn("has a node 127.0.0.2:6170 already, and it lives", err)
        first.kill()
        first.wait()
        self.assertTrue(launch.wait_until(lambda: not self.marked()))
        self.assertTrue(launch.wait_until(lambda: not any("/nodes/" in key for key in self.own_keys())))
        before = len(self.rounds(2))
        again = self.node(2)
        self.line_with(again, "was used by a job without nodes: it begins anew")
        self.assertTrue(launch.wait_until(lambda: len(self.rounds(2)) > before))
        self.complete(again)

    def test_bad_input_is_one_line(self):
        server = "--elastic_server=127.0.0.1:%d" % self.etcd.port
        dead = "--elastic_server=127.0.0.1:%d" % launch.free_port()
        for flags, status, what in (
                ([dead, "--job_id=j", "--np=1"], 4, "error[ETCD_UNREACHABLE]: etcd at 127.0.0.1:"),
                ([server, "--np=1"], 2, "needs --job_id and --np"),
                ([server, "--job_id=j"], 2, "needs --job_id and --np"),
                ([server, "--job_id=a/b", "--np=1"], 2, "holds a slash"),
                ([server, "--job_id=j", "--np=3:2"], 2, "'3:2' is not a number of nodes"),
                ([server, "--job_id=j", "--np=1:2", "--scale=1"], 2, "has a range of nodes"),
                ([server, "--job_id=j", "--np=1", "--scale=-1"], 2, "make 0 nodes"),
                ([server, "--job_id=j", "--np=1", "--force=maybe"], 2, "--force"),
                ([server, "--job_id=j", "--np=1", "--ips=127.0.0.1"], 2, "finds the nodes by itself"),
                (["--elastic_server=nowhere", "--job_id=j", "--np=1"], 2, "is not one address with a port"),
                (["--np=2"], 2, "belong to jobs whose nodes come and go")):
            with self.subTest(flags=flags):
                done = subprocess.run([DRYDOCK, "paddle-launch", "--python=" + sys.executable, *flags, "train.py"], cwd=self.folder,
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=launch.SECONDS,
                                      env=self.variables(), check=False)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertEqual(len([line for line in done.stderr.splitlines() if "error[" in line]), 1, done.stderr)
                self.assertIn(what, done.stderr)
                self.assertEqual(self.marked(), [])

    def test_script_that_is_not_there_ends_all_nodes(self):
        first, second = self.pair(np="2", script=("missing.py",))
        texts = [process.communicate(timeout=launch.SECONDS)[1] for process in (first, second)]
        # Who is refused first tells the other one, which may not have begun.
        self.assertIn(3, (first.returncode, second.returncode), texts)
        self.assertEqual({first.returncode, second.returncode} - {1, 3}, set(), texts)
        self.assertIn("missing.py", texts[0] + texts[1])
        self.assertEqual(self.marked(), [])


if __name__ == "__main__":
    unittest.main()
