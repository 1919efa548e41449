"""Dry runs that many hosts play over TCP: processes on loopback that find Open MPI's variables, two network
namespaces, and the real mpirun. What host 0 writes is what one host writes, to the byte."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import unittest

import command
import launch
import launch_mpirun_test
import launch_two_nodes_test

NET = command.EXAMPLES / "quickstart/net.py"
APART = {"spread.json", "scheduler.log"}  # beside the reports of one host


class SpreadTest(launch.LaunchTest):
    def setUp(self):
        super().setUp()
        self.port = launch.free_port()

    def words(self, *arguments, ranks=16):
        return [command.MSRUN, "--sim_level=1", "--sim_spread", "--worker_num=%d" % ranks,
                "--master_port=%d" % self.port, "--python=" + sys.executable, *map(str, arguments)]

    def begin_host(self, host, hosts, words):
        variables = self.variables(OMPI_COMM_WORLD_RANK=str(host), OMPI_COMM_WORLD_SIZE=str(hosts),
                                   OMPI_COMM_WORLD_LOCAL_RANK=str(host), OMPI_COMM_WORLD_LOCAL_SIZE=str(hosts))
        process = subprocess.Popen(words, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=variables, text=True)
        self.addCleanup(self.finish, process)
        return process

    def end_hosts(self, processes):
        runs = []
        for process in processes:
            out, err = process.communicate(timeout=launch.SECONDS)
            runs.append(command.Run(process.returncode, out, err))
        self.assertEqual(self.marked(), [])
        return runs

    def play(self, hosts, *arguments, other=None, **options):
        """All hosts to their end; `other` are the words of host 1 where they are not the same."""
        words = self.words(*arguments, **options)
        return self.end_hosts([self.begin_host(host, hosts, other if other and host == 1 else words)
                               for host in range(hosts)])

    def one_host(self, *arguments, ranks=16):
        done = subprocess.run([command.MSRUN, "--sim_level=1", "--worker_num=%d" % ranks, "--python=" + sys.executable,
                               *map(str, arguments)], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                              env=self.variables(), timeout=launch.SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def assert_same_reports(self, folder, expected):
        names = set(os.listdir(self.folder / expected)) - {".drydock.lock"}
        found = set(os.listdir(self.folder / folder)) - {".drydock.lock"}
        self.assertEqual(found - APART, names - APART)
        for name in sorted(names):
            self.assertEqual((self.folder / folder / name).read_bytes(), (self.folder / expected / name).read_bytes(), name)

    def test_four_hosts_write_what_one_writes(self):
        runs = self.play(4, "--log_dir=many", NET)
        self.assertEqual([run.status for run in runs], [0] * 4, [run.err for run in runs])
        self.assertIn("Played on 4 hosts: 16 ranks registered over 32 connections", runs[0].out)
        self.assertEqual([run.out for run in runs[1:]], [""] * 3)
        self.one_host("--log_dir=one", NET)
        self.assert_same_reports("many", "one")
        spread = json.loads(self.log("many/spread.json"))
        self.assertEqual([host["ranks"] for host in spread["hosts"]], ["0-3", "4-7", "8-11", "12-15"])
        self.assertEqual((spread["ranks"], spread["connections"], spread["specialised_ranks"]), (16, 32, 16))
        # The scheduler saw all of them come and leave.
        log = self.log("many/scheduler.log")
        self.assertIn("urrently registered node number: 16, expected node number: 16", log)

    def test_shares_that_do_not_divide(self):
        runs = self.play(3, "--log_dir=many", "--json", command.EXAMPLES / "graph/mlp.json", ranks=8)
        self.assertEqual([run.status for run in runs], [0] * 3, [run.err for run in runs])
        self.assertEqual(json.loads(runs[0].out)["run"], json.loads(self.log("many/spread.json"))["run"])
        spread = json.loads(self.log("many/spread.json"))
        self.assertEqual([host["ranks"] for host in spread["hosts"]], ["0-2", "3-5", "6-7"])

    def test_a_host_that_does_not_come_is_named(self):
        for seconds in (3, 20, 80):  # on a busy machine the others need more than a few
            words = self.words("--cluster_time_out=%d" % seconds, NET)
            run, *_ = self.end_hosts([self.begin_host(host, 4, words) for host in (0, 1, 3)])
            self.assertEqual(run.status, 4, run.err)
            if ": 12 of 16" in run.err:
                break
        self.assertIn("error[BUILD_TIMEOUT]: host 2 of 4 (ranks 8 to 11) did not come within %d s: 12 of 16" % seconds, run.err)

    def test_hosts_without_a_scheduler(self):
        run, = self.end_hosts([self.begin_host(1, 4, self.words("--cluster_time_out=2", NET))])
        self.assertEqual(run.status, 4, run.err)
        self.assertIn("error[MASTER_UNREACHABLE]", run.err)

    def test_another_script_is_named_on_all_hosts(self):
        text = NET.read_text()
        (self.folder / "net.py").write_text(text)
        (self.folder / "older").mkdir()
        (self.folder / "older/net.py").write_text(text + "# older\n")
        words = self.words("net.py")
        other = ["env", "-C", str(self.folder / "older"), *words]
        runs = self.play(3, "net.py", other=other)
        self.assertEqual([run.status for run in runs], [3] * 3, [run.err for run in runs])
        for run in runs:
            self.assertRegex(run.err, r"error\[HOSTS_DIFFER\]: host 1 \(\S+\) and host 0 \(\S+\) differ in the digest of the script")
        self.assertFalse((self.folder / "summary.json").exists())

    def test_another_module_behind_the_same_script(self):
        (self.folder / "net.py").write_text("import width\n" + command.network().replace("[[0.5] * 16]", "[[0.5] * width.N]"))
        for place, columns in ((".", 16), ("older", 32)):
            (self.folder / place).mkdir(exist_ok=True)
            (self.folder / place / "width.py").write_text("N = %d\n" % columns)
        (self.folder / "older/net.py").write_text((self.folder / "net.py").read_text())
        words = self.words("net.py", ranks=4)
        runs = self.play(2, "net.py", ranks=4, other=["env", "-C", str(self.folder / "older"), *words])
        self.assertEqual([run.status for run in runs], [3] * 2, [run.err for run in runs])
        self.assertIn("differ in the result", runs[0].err)
        self.assertIn("modules that the script imports", runs[0].err)

    def test_other_flags_are_named(self):
        runs = self.play(2, NET, other=self.words("--device_memory=30GB", NET))
        self.assertEqual([run.status for run in runs], [3] * 2, [run.err for run in runs])
        self.assertIn("differ in the flags: device_memory=30GB", runs[0].err)

    def test_other_numbers_of_ranks(self):
        runs = self.play(2, NET, other=self.words(NET, ranks=32))
        self.assertEqual([run.status for run in runs], [4, 2], [run.err for run in runs])
        self.assertIn("16 ranks by its scheduler, and 32 by --worker_num here", runs[1].err)
        self.assertIn("error[HOST_FAILED]: host 1", runs[0].err)

    def test_a_script_that_fails_on_one_host_ends_all(self):
        (self.folder / "net.py").write_text(
            "import os\nif os.path.exists('broken'):\n    raise RuntimeError('no data here')\n" + command.network())
        (self.folder / "other").mkdir()
        shutil.copy(self.folder / "net.py", self.folder / "other/net.py")
        (self.folder / "other/broken").write_text("")
        runs = self.play(3, "net.py", other=["env", "-C", str(self.folder / "other"), *self.words("net.py")])
        self.assertEqual(runs[1].status, 6, runs[1].err)
        self.assertIn("no data here", runs[1].err)
        for run in (runs[0], runs[2]):
            self.assertEqual(run.status, 4, run.err)
            self.assertRegex(run.err, r"error\[HOST_FAILED\]: host 1 \(\S+\): .*no data here")

    def test_a_host_that_is_killed_while_others_wait(self):
        words = self.words(NET)
        hosts = [self.begin_host(host, 3, words) for host in (0, 1)]
        # Host 1 has registered its ranks and waits for host 2, which never comes.
        self.assertTrue(launch.wait_until(lambda: "node number: 11" in self.log("scheduler.log")))
        hosts[1].send_signal(signal.SIGKILL)
        self.assertTrue(launch.wait_until(lambda: hosts[1].poll() is not None))
        # Its place is free as soon as the scheduler knows; then it is started once more, with the third.
        self.assertTrue(launch.wait_until(lambda: "is timed out" in self.log("scheduler.log")), self.log("scheduler.log"))
        hosts[1] = self.begin_host(1, 3, words)
        hosts.append(self.begin_host(2, 3, words))
        runs = self.end_hosts(hosts)
        self.assertEqual([run.status for run in runs], [0] * 3, [run.err for run in runs])

    def test_secret_of_the_job(self):
        (self.folder / "secret").write_text("a secret of more than sixteen bytes\n")
        (self.folder / "secret").chmod(0o600)
        runs = self.play(2, "--job_secret=secret", NET)
        self.assertEqual([run.status for run in runs], [0] * 2, [run.err for run in runs])

    def test_wrong_use(self):
        for words, text in (
                ([command.MSRUN, "--sim_spread", "--worker_num=2", NET], "--sim_spread: applies to dry runs only"),
                (self.words("--local_worker_num=4", NET), "which of the 4 hosts"),
                (self.words("--local_worker_num=4", "--node_rank=4", NET), "host 4 is beyond the 4 hosts"),
                (self.words("--local_worker_num=4", "--node_rank=1", NET), "is this machine, and node 1")):
            with self.subTest(text):
                done = subprocess.run([str(word) for word in words], cwd=self.folder, stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, env=self.variables(), timeout=launch.SECONDS, check=False)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)
        run, = self.end_hosts([self.begin_host(0, 20, self.words(NET))])
        self.assertEqual(run.status, 2, run.err)
        self.assertIn("20 hosts play 16 ranks", run.err)

    @unittest.skipIf(launch_two_nodes_test.REASON, launch_two_nodes_test.REASON)
    def test_two_network_namespaces(self):
        def node(host):
            return shlex.join(self.words("--local_worker_num=8", "--master_addr=10.77.0.1", "--node_rank=%d" % host,
                                         "--log_dir=many", NET))
        done = subprocess.run([launch_two_nodes_test.SCRIPT, node(0), node(1)], cwd=self.folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=self.variables(), timeout=launch.SECONDS, check=False)
        self.assertIn("statuses 0 0", done.stdout)
        self.one_host("--local_worker_num=8", "--log_dir=one", NET)
        self.assert_same_reports("many", "one")
        hosts = json.loads(self.log("many/spread.json"))["hosts"]
        self.assertEqual([host["address"] for host in hosts], ["10.77.0.1", "10.77.0.2"])

    @unittest.skipIf(launch_mpirun_test.REASON, launch_mpirun_test.REASON)
    def test_under_open_mpi(self):
        run = launch.open_mpi(2, *self.words("--log_dir=many", NET), cwd=self.folder, env=self.variables())
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(run.out.count("Played on 2 hosts"), 1)
        self.one_host("--log_dir=one", NET)
        self.assert_same_reports("many", "one")


if __name__ == "__main__":
    unittest.main()
