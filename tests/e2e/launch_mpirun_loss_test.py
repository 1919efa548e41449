"""A node is lost under the real mpirun, its hosts two network namespaces: its processes end at once, or its cable is cut.
Our launchers end all ranks on both sides and name the cause; Open MPI itself hangs where a cable is cut."""

import json
import shlex
import subprocess
import sys
import unittest

import command
import launch
import launch_mpirun_test
import launch_two_nodes_test

AGENT = launch_two_nodes_test.SCRIPT.with_name("fake_ssh.sh")
REASON = launch_mpirun_test.REASON or launch_two_nodes_test.REASON
NET = """import os, time
print("started", os.environ["RANK"], flush=True)
time.sleep(600)
"""
# Node 0: mpirun; then what happens, once both ranks run; then until no launcher or rank is left, at most 60 s.
FIRST = """export TMPDIR=/tmp MS_NODE_TIMEOUT=6
mpirun --allow-run-as-root --host 10.77.0.1,10.77.0.2 -npernode 1 -mca plm_rsh_agent {agent} -mca oob_tcp_if_include 10.77.0.0/24 \\
  --leave-session-attached -x MS_NODE_TIMEOUT -wdir {folder} {msrun} >mpi.out 2>mpi.err &
mpi=$!
wait_until() {{ for ((i = 0; i < 900; ++i)); do if eval "$1"; then return 0; fi; sleep 0.1; done; return 1; }}
wait_until '[ -s out/worker_0.log ] && [ -s out/worker_1.log ]' || echo "did not start"
node=$(pgrep -P $mpi unshare)
{what}
ours() {{ pgrep -f "net.py|msrun: job" | grep -vx $mpi; }}
wait_until '! ours >/dev/null' || {{ echo left; pgrep -af "net.py|msrun: job"; }}
kill -9 $mpi $node 2>/dev/null
exit 0
"""


@unittest.skipIf(REASON, REASON)
class MpirunLossTest(launch.LaunchTest):
    def play(self, what):
        self.write("net.py", NET)
        msrun = shlex.join([command.MSRUN, "--master_port=9744", "--rendezvous=launcher", "--log_dir=out", "--python=" + sys.executable,
                            "net.py"])
        self.write("first.sh", FIRST.format(agent=AGENT, folder=self.folder, msrun=msrun, what=what))
        done = subprocess.run([launch_two_nodes_test.SCRIPT, "bash first.sh", "true"], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.variables(), timeout=launch.SECONDS, check=False)
        self.assertEqual(self.marked(), [])
        told = self.log("mpi.out") + self.log("mpi.err")
        self.assertIn("statuses 0 0", done.stdout, told)
        self.assertNotIn("left", done.stdout, told)
        self.assertNotIn("did not start", done.stdout, told)
        self.assertEqual([self.log("out/worker_%d.log" % rank) for rank in (0, 1)], ["started 0\n", "started 1\n"])
        return told

    def status_of(self, node):
        return json.loads(self.log("out/msrun_status%s.json" % (".%d" % node if node else "")))

    def test_node_whose_processes_end(self):
        """Open MPI sees it first and stops the others."""
        told = self.play("kill -9 $node")
        self.assertIn("ORTE", told)
        self.assertIn(self.status_of(0)["code"], ("STOPPED", "RANK_LOST"))

    def test_cable_that_is_cut(self):
        told = self.play("ip link set cable0 down")
        self.assertRegex(told, r"error\[RANK_LOST\]: rank 1 on other \(10\.77\.0\.2\) is lost: No heartbeat came in time")
        self.assertEqual(self.status_of(0)["code"], "RANK_LOST")
        self.assertEqual(self.status_of(1)["code"], "SCHEDULER_DIED")


if __name__ == "__main__":
    unittest.main()
