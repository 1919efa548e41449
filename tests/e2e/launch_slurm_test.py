"""msrun under a real Slurm on loopback: munged, slurmctld and two nodes. A node is a slurmd in a process namespace of its own
with a name of its own, so that all processes of the node end with it: that is how a node is lost."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import unittest
from pathlib import Path

import command
import launch
import spread_test

SHOW = """import os
print("PLACE", *(os.environ.get(name) for name in (
    "RANK_ID", "RANK_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MS_NODE_RANK", "MS_SCHED_HOST")), flush=True)
"""
CONF = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort={ports[0]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdTimeout=1000
MessageTimeout=100
KillWait=5
NodeName=n0 NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1 State=UNKNOWN
NodeName=n1 NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1 State=UNKNOWN
PartitionName=all Nodes=n0,n1 Default=YES MaxTime=INFINITE State=UP
"""
NET = """import os, signal, sys, time
print("started", os.environ["RANK"], flush=True)
if os.environ["RANK"] == "1":
    %s
time.sleep(600)
"""
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def reason_without_slurm():
    missing = [name for name in ("munged", "slurmctld", "slurmd", "srun", "sinfo", "unshare") if not shutil.which(name, path=PATH)]
    if missing:
        return "there is no %s (packages slurmctld, slurmd, slurm-client, munge)" % ", ".join(missing)
    return "" if os.geteuid() == 0 else "slurmd needs root"


REASON = reason_without_slurm()


@unittest.skipIf(REASON, REASON)
class SlurmTest(launch.LaunchTest):
    """One cluster for all tests: it takes seconds to come up."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Path(subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip())
        cls.addClassCleanup(shutil.rmtree, cls.cluster, ignore_errors=True)
        for name in ("state", "spool.n0", "spool.n1"):
            (cls.cluster / name).mkdir()
        (cls.cluster / "key").write_bytes(os.urandom(1024))
        (cls.cluster / "key").chmod(0o600)
        cls.cluster.chmod(0o755)
        ports = [launch.free_port() for _ in range(3)]
        (cls.cluster / "slurm.conf").write_text(CONF.format(host=socket.gethostname().split(".")[0], folder=cls.cluster,
                                                            ports=ports))
        cls.environment = dict(os.environ, SLURM_CONF=str(cls.cluster / "slurm.conf"), PATH=PATH)
        munge = ["--%s=%s" % (flag, cls.cluster / name) for flag, name in (
            ("key-file", "key"), ("socket", "munge.socket"), ("pid-file", "munged.pid"), ("log-file", "munged.log"),
            ("seed-file", "munged.seed"))]
        cls.start(["munged", "--foreground", "--force", *munge], lambda: (cls.cluster / "munge.socket").exists())
        cls.start(["slurmctld", "-D"], lambda: cls.listens(ports[0]))
        cls.nodes = {}
        for number in (0, 1):
            cls.start_node(number)

    @classmethod
    def start(cls, words, comes_up):
        with open(cls.cluster / (words[0] + ".out"), "ab") as output:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=cls.environment)
        cls.addClassCleanup(cls.end, process)
        if not launch.wait_until(comes_up):
            raise unittest.SkipTest("%s does not come up: %s" % (words[0], (cls.cluster / (words[0] + ".out")).read_text()[-300:]))
        return process

    @classmethod
    def start_node(cls, number):
        """All of a node ends with its first process, which stays when slurmd alone is killed."""
        name = "n%d" % number
        cls.nodes[number] = cls.start(
            ["unshare", "-upf", "--mount-proc", "--kill-child", "sh", "-c",
             "hostname %s; slurmd -D -N %s; exec sleep 1000000" % (name, name)], lambda: cls.state_of(name) == "idle")

    @staticmethod
    def listens(port):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    @classmethod
    def state_of(cls, node):
        answer = subprocess.run(["sinfo", "-h", "-n", node, "-o", "%t"], env=cls.environment, capture_output=True, text=True, check=False)
        return answer.stdout.strip()

    @classmethod
    def lose_node(cls, number):
        """The power of a node is cut."""
        cls.nodes[number].kill()  # its child goes with it
        cls.nodes[number].wait()

    @classmethod
    def declare_down(cls, number):
        """What slurmctld does by itself half a minute after a slurmd is gone."""
        subprocess.run(["scontrol", "update", "NodeName=n%d" % number, "State=DOWN", "Reason=lost"], env=cls.environment,
                       stdin=subprocess.DEVNULL, check=True)

    @staticmethod
    def name_of(pid):
        try:
            return Path("/proc/%d/comm" % pid).read_text().strip()
        except OSError:
            return ""  # ended meanwhile

    @staticmethod
    def children_of(pid):
        return [int(word) for word in Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()]

    @staticmethod
    def end(process):
        process.kill() if process.args[0] == "unshare" else process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def srun(self, tasks, *arguments):
        done = subprocess.run(["srun", "-w", "n0", "--overcommit", "-n", str(tasks), *map(str, arguments)], cwd=self.folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=launch.SECONDS, check=False,
                              env=dict(self.environment, DRYDOCK_TEST_MARK=self.mark, TMPDIR=str(self.temporary)))
        self.assertTrue(launch.wait_until(lambda: not self.marked()), "processes are left: " + done.stderr)
        return command.Run(done.returncode, done.stdout, done.stderr)

    def test_each_task_is_a_node(self):
        self.write("show.py", SHOW)
        run = self.srun(2, command.MSRUN, "--master_port=%d" % launch.free_port(), "--local_worker_num=2", "--log_dir=out", "show.py")
        self.assertEqual(run.status, 0, run.err)
        for rank in range(4):
            self.assertEqual(self.log("out/worker_%d.log" % rank), "PLACE %d 4 %d 4 %d 127.0.0.1\n" % (rank, rank, rank // 2))

    def test_one_task_stays_until_the_end(self):
        """Its step would end what it leaves behind."""
        run = self.srun(1, command.MSRUN, "--master_port=%d" % launch.free_port(), "--worker_num=2", "--local_worker_num=2", "--log_dir=out",
                        "bash", "-c", "sleep 0.5; echo end")
        self.assertEqual((run.status, self.log("out/worker_1.log")), (0, "end\n"), run.err)

    def test_rank_that_fails_ends_all(self):
        run = self.srun(2, command.MSRUN, "--master_port=%d" % launch.free_port(), "--rendezvous=launcher", "--log_dir=out",
                        "bash", "-c", "if [ $RANK = 1 ]; then echo cause; exit 3; fi; exec sleep 60")
        self.assertEqual(run.status, 1, run.err)
        self.assertIn("first: rank 1", run.err)
        self.assertEqual(self.log("out/worker_1.log"), "cause\n")

    def test_contradiction_names_both(self):
        run = self.srun(2, command.MSRUN, "--worker_num=3", "--local_worker_num=1", "show.py")
        self.assertEqual(run.status, 2)
        self.assertIn("SLURM_STEP_NUM_TASKS=2 of Slurm", run.err)

    @unittest.skipUnless(shutil.which("sbatch", path=PATH), "there is no sbatch (package slurm-client)")
    def test_tasks_of_an_array_job_share_a_sweep(self):
        model = {"model_type": "llama", "hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8, "intermediate_size": 1024, "vocab_size": 1024}
        self.write("jobs.jsonl", "".join(json.dumps({"model": model, "sequence": 128, "batch": 8, "plan": "dp%d mb1" % data}) + "\n" for data in (1, 2, 4, 8, 1)))
        program = str(Path(command.MSRUN).with_name("drydock"))
        done = subprocess.run(["sbatch", "--array=0-1", "--wait", "--output=array.%a.log", "--wrap", program + " sweep jobs.jsonl"], cwd=self.folder,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=launch.SECONDS, check=False,
                              env=dict(self.environment, DRYDOCK_TEST_MARK=self.mark, TMPDIR=str(self.temporary)))
        logs = "".join(self.log("array.%d.log" % task) for task in (0, 1))
        self.assertEqual(done.returncode, 0, done.stderr + logs)
        self.assertIn("3 answered", logs)
        self.assertIn("2 answered", logs)
        self.assertEqual(sorted(path.name for path in (Path(self.folder) / "jobs.jsonl.out").glob("part-*")), ["part-0-of-2.jsonl", "part-1-of-2.jsonl"])
        merged = subprocess.run([program, "sweep", "--merge", "jobs.jsonl"], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((merged.returncode, len(merged.stdout.splitlines())), (0, 5), merged.stderr)

    def test_dry_run_that_both_nodes_play(self):
        """--sim_spread: what node 0 writes is what one machine writes, to the byte."""
        done = subprocess.run(["srun", "-N", "2", "--ntasks-per-node=1", command.MSRUN, "--sim_level=1", "--sim_spread", "--worker_num=16",
                               "--master_addr=127.0.0.1", "--master_port=%d" % launch.free_port(), "--python=" + sys.executable,
                               "--log_dir=many", str(spread_test.NET)], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=launch.SECONDS, check=False,
                              env=dict(self.environment, DRYDOCK_TEST_MARK=self.mark, TMPDIR=str(self.temporary)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(launch.wait_until(lambda: not self.marked()), "processes are left: " + done.stderr)
        self.assertEqual(done.stdout.count("Played on 2 hosts: 16 ranks registered over 32 connections"), 1, done.stdout)
        spread = json.loads(self.log("many/spread.json"))
        self.assertEqual([(host["name"], host["ranks"]) for host in spread["hosts"]], [("n0", "0-7"), ("n1", "8-15")])
        spread_test.SpreadTest.one_host(self, "--log_dir=one", spread_test.NET)
        spread_test.SpreadTest.assert_same_reports(self, "many", "one")

    def begin_on_both(self, what):
        """A rank on each node; rank 1 does `what`, the other one waits."""
        self.write("net.py", NET % what)
        words = [command.MSRUN, "--master_addr=127.0.0.1", "--master_port=%d" % launch.free_port(), "--rendezvous=launcher",
                 "--log_dir=out", "--python=" + sys.executable, "net.py"]
        process = subprocess.Popen(["srun", "-N", "2", "--ntasks-per-node=1", *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=dict(self.environment, DRYDOCK_TEST_MARK=self.mark, TMPDIR=str(self.temporary)))
        self.addCleanup(self.finish, process)
        return process

    def begun_on_both(self, what):
        process = self.begin_on_both(what)
        self.assertTrue(launch.wait_until(lambda: all("started" in self.log("out/worker_%d.log" % rank) for rank in (0, 1))))
        return process

    def ended(self, process):
        err = process.communicate(timeout=launch.SECONDS)[1]
        self.assertTrue(launch.wait_until(lambda: not self.marked()), "processes are left: " + err)
        self.assertEqual(self.log("out/worker_1.log").splitlines()[0], "started 1")
        return process.returncode, err

    def test_rank_of_another_node_that_ends_with_a_status(self):
        status, err = self.ended(self.begin_on_both("sys.exit(3)"))
        self.assertEqual(status, 1, err)
        self.assertRegex(err, r"first: rank 1 \(n1, pid \d+\) ended with exit status 3\n")

    def test_rank_that_is_killed_as_for_lack_of_memory(self):
        status, err = self.ended(self.begin_on_both("os.kill(os.getpid(), signal.SIGKILL)"))
        self.assertEqual(status, 1, err)
        self.assertRegex(err, r"error\[RANK_SIGNALLED\]: rank 1 \(n1, .* ended with signal KILL \(9\); hint: probably out of memory")

    def test_rank_that_hangs_until_the_job_is_stopped(self):
        process = self.begun_on_both("signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    time.sleep(600)")
        process.terminate()
        status, err = self.ended(process)
        self.assertNotEqual(status, 0, err)

    def test_node_that_is_lost(self):
        process = self.begun_on_both("pass")
        self.lose_node(1)
        self.addCleanup(self.start_node, 1)
        # All of ours is over before Slurm knows.
        self.assertTrue(launch.wait_until(lambda: all(self.name_of(pid) in ("srun", "") for pid in self.marked())))
        self.declare_down(1)
        status, err = self.ended(process)
        self.assertNotEqual(status, 0, err)
        self.assertRegex(err, r"error\[RANK_LOST\]: rank 1 on n1 \(127\.0\.0\.1\) is lost: ")
        self.assertIn("ended by msrun: rank 0", err)

    def test_slurmd_that_is_killed(self):
        """Its step goes on until Slurm takes the node for lost and ends the job."""
        process = self.begun_on_both("pass")
        init = self.children_of(self.nodes[1].pid)[0]
        slurmd = [pid for pid in self.children_of(init) if self.name_of(pid) == "slurmd"]
        self.assertEqual(len(slurmd), 1)
        os.kill(slurmd[0], signal.SIGKILL)
        self.declare_down(1)

        def again():
            self.lose_node(1)
            self.start_node(1)
        self.addCleanup(again)
        status, err = self.ended(process)
        self.assertNotEqual(status, 0, err)
        self.assertIn("Node failure on n1", err)
        # Slurm's signals are not sent at one instant: on a busy machine msrun may wait in vain for its own (200 ms).
        self.assertRegex(err, r"error\[(STOPPED\]: stopped by signal TERM|RANK_SIGNALLED\]: rank 0 .* signal TERM)")


if __name__ == "__main__":
    unittest.main()
