"""msrun under a real Slurm: munged, slurmctld and slurmd of this test on loopback, one node of two processors."""

import os
import shutil
import socket
import subprocess
import unittest
from pathlib import Path

import command
import launch

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
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def reason_without_slurm():
    missing = [name for name in ("munged", "slurmctld", "slurmd", "srun", "sinfo") if not shutil.which(name, path=PATH)]
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
        for name in ("state", "spool"):
            (cls.cluster / name).mkdir()
        (cls.cluster / "key").write_bytes(os.urandom(1024))
        (cls.cluster / "key").chmod(0o600)
        cls.cluster.chmod(0o755)
        ports = [launch.free_port(), launch.free_port()]
        (cls.cluster / "slurm.conf").write_text(CONF.format(host=socket.gethostname().split(".")[0], folder=cls.cluster,
                                                            ports=ports))
        cls.environment = dict(os.environ, SLURM_CONF=str(cls.cluster / "slurm.conf"), PATH=PATH)
        munge = ["--%s=%s" % (flag, cls.cluster / name) for flag, name in (
            ("key-file", "key"), ("socket", "munge.socket"), ("pid-file", "munged.pid"), ("log-file", "munged.log"),
            ("seed-file", "munged.seed"))]
        for words, comes_up in ((["munged", "--foreground", "--force", *munge], lambda: (cls.cluster / "munge.socket").exists()),
                                (["slurmctld", "-D"], lambda: cls.listens(ports[0])), (["slurmd", "-D"], cls.is_idle)):
            with open(cls.cluster / (words[0] + ".out"), "wb") as output:
                process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=cls.environment)
            cls.addClassCleanup(cls.end, process)
            if not launch.wait_until(comes_up, 30):
                raise unittest.SkipTest("%s does not come up: %s" % (words[0], (cls.cluster / (words[0] + ".out")).read_text()[-300:]))

    @staticmethod
    def listens(port):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    @classmethod
    def is_idle(cls):
        answer = subprocess.run(["sinfo", "-h", "-o", "%t"], env=cls.environment, capture_output=True, text=True, check=False)
        return answer.stdout.strip() == "idle"

    @staticmethod
    def end(process):
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def srun(self, tasks, *arguments):
        done = subprocess.run(["srun", "--overcommit", "-n", str(tasks), *map(str, arguments)], cwd=self.folder,
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


if __name__ == "__main__":
    unittest.main()
