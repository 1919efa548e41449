"""The shell scripts of MindSpore's pages about msrun and about the dynamic cluster, as they stand there but for what a machine
without accelerators needs: CPU, two or four ranks, a free port, generated data. Real MindSpore runs in every rank."""

import re
import subprocess
import unittest

import msrun_test
from mindspore_job import BUILD, HERE, MSRUN, NEEDS_MINDSPORE, PYTHON, SECONDS, JobTest

# The page's run_gpu_cluster.sh; in a node's own script the numbers of its workers and, on the first one, the scheduler.
CLUSTER = """#!/bin/bash
EXEC_PATH=$(pwd)
rm -rf device && mkdir device
for((i={first};i<{last};i++));
do
    export MS_WORKER_NUM={workers}
    export MS_SCHED_HOST={host}
    export MS_SCHED_PORT={port}
    export MS_ROLE=MS_WORKER
    export MS_NODE_ID=$i
    {python} {script} > worker_$i.log 2>&1 &
done
{scheduler}
wait
"""
# In place of the page's `pytest ... > scheduler.log 2>&1 &` of the role MS_SCHED.
SCHEDULER = """export MS_ROLE=MS_SCHED
{drydock} scheduler > scheduler.log 2>&1 &"""


@NEEDS_MINDSPORE
class PagesTest(JobTest):
    def run_script(self, name, text):
        (self.folder / name).write_text(text)
        done = subprocess.run(["bash", name], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=SECONDS, check=False)
        return done.returncode, done.stdout

    def assert_nodes_end_well(self, make_scripts, logs):
        """Two machines, each runs its script in a folder of its own; both ranks train."""
        def play():
            for node, text in enumerate(make_scripts()):
                (self.folder / ("node%d" % node)).mkdir()
                (self.folder / ("node%d" % node) / "start.sh").write_text(text)
            self.start([msrun_test.TWO_NODES, *("cd node%d && bash start.sh" % node for node in (0, 1))], "nodes.log").wait(SECONDS)
            printed = self.text("nodes.log")
            told = "" if "statuses 0 0" in printed else self.crash_behind_the_end(printed, logs)
            if not told:
                self.assertIn("statuses 0 0", printed)
                self.assert_trained(logs)
            return told
        self.try_again(play)

    def assert_trained(self, logs):
        """Every rank, each number once, came to the same weights."""
        found = [re.findall(r"^RESULT (\d+) (\S+)$", self.text(name), re.M) for name in logs]
        self.assertEqual([len(lines) for lines in found], [1] * len(logs), [self.text(name)[-2000:] for name in logs])
        self.assertEqual(sorted(int(lines[0][0]) for lines in found), list(range(len(logs))))
        self.assertEqual(len({lines[0][1] for lines in found}), 1)

    def msrun_script(self, *flags):
        return ("EXEC_PATH=$(pwd)\nrm -rf msrun_log\nmkdir msrun_log\n\n%s %s --python=%s --master_port=%d --log_dir=msrun_log --join=True "
                "--cluster_time_out=300 %s\n" % (MSRUN, " ".join(flags), PYTHON, self.port, HERE / "network.py"))

    def cluster_script(self, first, last, workers, host, is_first=True):
        return CLUSTER.format(first=first, last=last, workers=workers, host=host, port=self.port, python=PYTHON, script=HERE / "network.py",
                              scheduler=SCHEDULER.format(drydock=BUILD / "bin/drydock") if is_first else "")

    def assert_ends_well(self, name, make_script, folder=""):
        """Both ranks train and leave the job."""
        logs = ["%sworker_%d.log" % (folder, rank) for rank in (0, 1)]

        def play():
            status, text = self.run_script(name, make_script())
            all_left = "All nodes have unregistered" in self.text(folder + "scheduler.log")
            told = "" if status == 0 and all_left else self.crash_behind_the_end(text, logs)
            if not told:
                self.assertEqual(status, 0, text[-3000:])
                self.assert_trained(logs)
                self.assertTrue(all_left, self.text(folder + "scheduler.log") + "".join(self.text(log)[-2000:] for log in logs))
            return told
        self.try_again(play)

    def test_page_000_msrun_single(self):
        """bash msrun_single.sh"""
        self.assert_ends_well("msrun_single.sh", lambda: self.msrun_script("--worker_num=2", "--local_worker_num=2"), "msrun_log/")

    @unittest.skipIf(msrun_test.REASON, msrun_test.REASON)
    def test_page_000_msrun_1_and_2(self):
        """bash msrun_1.sh on the first node, bash msrun_2.sh on the second one: ranks by --node_rank"""
        common = ("--worker_num=2", "--local_worker_num=1", "--master_addr=10.77.0.1")
        self.assert_nodes_end_well(lambda: [self.msrun_script(*common, "--node_rank=%d" % node) for node in (0, 1)],
                                   ["node%d/msrun_log/worker_%d.log" % (node, node) for node in (0, 1)])

    def test_page_001_run_cluster(self):
        """bash run_gpu_cluster.sh: the scheduler's line is replaced, and may come last"""
        self.assert_ends_well("run_cluster.sh", lambda: self.cluster_script(0, 2, 2, "127.0.0.1"))

    @unittest.skipIf(msrun_test.REASON, msrun_test.REASON)
    def test_page_001_run_cluster_1_and_2(self):
        """bash run_gpu_cluster_1.sh with the scheduler, bash run_gpu_cluster_2.sh with workers only"""
        self.assert_nodes_end_well(lambda: [self.cluster_script(0, 1, 2, "10.77.0.1"),
                                            self.cluster_script(1, 2, 2, "10.77.0.1", is_first=False)],
                                   ["node%d/worker_%d.log" % (node, node) for node in (0, 1)])


if __name__ == "__main__":
    unittest.main()
