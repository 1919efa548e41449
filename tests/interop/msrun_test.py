"""Real MindSpore under our msrun: one node, two nodes (network namespaces), TLS, recovery.

Needs an interpreter that imports a CPU wheel, see by_hand_test.py.
"""

import re
import shlex
import signal
import subprocess
import unittest

from mindspore_job import HERE, MSRUN, NEEDS_MINDSPORE, PYTHON, SECONDS, JobTest

TWO_NODES = HERE.parent / "e2e/two_nodes.sh"


def reason_without_namespaces():
    if not PYTHON:
        return "no interpreter with MindSpore"
    tried = subprocess.run([TWO_NODES, "true", "true"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, check=False)
    return "" if "statuses 0 0" in tried.stdout else "no network namespaces: " + tried.stdout.strip()[-200:]


REASON = reason_without_namespaces()


@NEEDS_MINDSPORE
class MsrunTest(JobTest):
    def msrun(self, ranks, *arguments, local=None, script="allreduce.py"):
        return [MSRUN, "--worker_num=%d" % ranks, "--local_worker_num=%d" % (local or ranks), "--join=True",
                "--python=" + PYTHON, "--master_port=%d" % self.port, *arguments, HERE / script]

    def run_nodes(self, *arguments, script="allreduce.py", **variables):
        """Two nodes of two ranks: statuses, when they ended, and everything that was printed."""
        common = self.msrun(4, "--master_addr=10.77.0.1", *arguments, local=2, script=script)
        end = "; status=$?; date +ended%s.%N; exit $status"
        nodes = [shlex.join(map(str, [*common[:-1], *place, "--log_dir=node%d" % node, common[-1]])) + end
                 for node, place in enumerate(self.places)]
        self.start([TWO_NODES, *nodes], "nodes.log", **variables).wait(SECONDS)
        text = self.text("nodes.log")
        statuses = re.search(r"^statuses (\d+) (\d+)$", text, re.M)
        self.assertTrue(statuses, text[-3000:])
        ended = [float(word) for word in re.findall(r"^ended(\S+)$", text, re.M)]
        return (int(statuses.group(1)), int(statuses.group(2))), ended, text

    def assert_only_crashed_behind_its_end(self, ranks):
        """MindSpore's workers over TLS now and then crash in their own clean-up, when the script has come to its end."""
        text = self.text("msrun.log")
        crashed = re.findall(r"error\[RANK_SIGNALLED\]: rank (\d+) .* signal SEGV", text)
        self.assertEqual(len(re.findall(r"error\[", text)), len(crashed), text[-3000:])
        self.assertTrue(crashed, text[-3000:])
        for rank in range(ranks):
            self.assertIn("END OF SCRIPT", self.text("worker_%d.log" % rank), text[-3000:])

    places = [["--node_rank=0"], ["--node_rank=1"]]

    def test_one_node_over_tls(self):
        config, password = self.make_tls()
        job = self.start(self.msrun(2, "--tls_config=%s" % config, "--tls_password_file=%s" % password),
                         "msrun.log", ENABLE_SSL="1", TLS_CONFIG=str(config), TLS_PASSWORD="secret")
        if job.wait(SECONDS) != 0:
            self.assert_only_crashed_behind_its_end(2)
        self.assert_sum(2)

    def test_a_job_that_nobody_waits_for(self):
        self.try_again(self.play_without_join)

    def play_without_join(self):
        job = self.start(self.msrun(2)[:3] + ["--join=False"] + self.msrun(2)[4:], "msrun.log")
        self.assertEqual(job.wait(SECONDS), 0, self.text("msrun.log"))
        for rank in range(2):
            self.wait_text("worker_%d.log" % rank, "RESULT")
        self.assert_sum(2)
        self.wait_for(lambda: re.search("All nodes have unregistered|is timed out", self.text("scheduler.log")), "the scheduler does not end")
        if "is timed out" in self.text("scheduler.log") and all("END OF SCRIPT" in self.text("worker_%d.log" % rank) for rank in range(2)):
            return "a worker of MindSpore ended behind its script without leaving the job"
        self.assertIn("All nodes have unregistered", self.text("scheduler.log"))
        return ""

    def test_a_rank_that_fails_before_it_joins(self):
        (self.folder / "broken.py").write_text("import mindspore\nraise ValueError('not today')\n")
        words = self.msrun(2)
        job = self.start([*words[:-1], "broken.py"], "msrun.log")
        self.assertEqual(job.wait(SECONDS), 1)
        self.assertIn("ValueError: not today", self.text("msrun.log"))
        self.assertIn("error[RANK_FAILED]", self.text("msrun.log"))

    @unittest.skipIf(REASON, REASON)
    def test_two_nodes_whose_ranks_are_given_out(self):
        """Ids are texts: the installed release tells the numbers of the answers before anybody asks."""
        self.places = [[], []]
        self.try_again(self.play_two_nodes)

    def play_two_nodes(self):
        statuses, _, text = self.run_nodes("--rendezvous=worker")
        told = self.crash_behind_the_end(text, ["node%d/worker_%d.log" % (node, index) for node in (0, 1) for index in (0, 1)])
        if statuses != (0, 0) and told:
            return told
        self.assertEqual(statuses, (0, 0), text[-3000:])
        found = {(node, index): line.split()[0] for node in (0, 1) for index in (0, 1) for line in
                 re.findall(r"^RESULT (.*)$", self.text("node%d/worker_%d.log" % (node, index)), re.M)}
        self.assertEqual(text.count(" 4 [10.0, 10.0]"), 4, "1 + 2 + 3 + 4 on every rank")
        # By address, 10.77.0.1 first; the order within a node is that of ids nobody chose.
        self.assertEqual({found[0, 0], found[0, 1]}, {"0", "1"})
        self.assertEqual({found[1, 0], found[1, 1]}, {"2", "3"})
        return ""

    @unittest.skipIf(REASON, REASON)
    def test_a_failed_rank_ends_both_nodes(self):
        for failing in (0, 3):
            with self.subTest(failing=failing):
                (self.folder / "nodes.log").unlink(missing_ok=True)
                # They are told: the node time-out is longer than the test waits.
                statuses, ended, text = self.run_nodes(script="fail.py", FAIL=str(failing), MS_NODE_TIMEOUT=str(2 * SECONDS))
                self.assertEqual(statuses, (1, 1), text[-3000:])
                self.assertIn("failed at", self.text("node%d/worker_%d.log" % (failing // 2, failing)))
                self.assertEqual(len(ended), 2)
                for node in ("of that node", "heard by the other"):
                    self.assertIn("rank %d " % failing, text, node)

    def test_msrun_killed_and_started_again_with_recovery(self):
        """The second msrun takes the state up again; ranks and their numbers are as before."""
        self.try_again(self.play_recovery)

    def play_recovery(self):
        recovery = dict(MS_ENABLE_RECOVERY="1", MS_RECOVERY_PATH=str(self.folder))
        first = self.start(self.msrun(2), "first.log", WAIT_FOR=str(self.folder / "never"), **recovery)
        for rank in range(2):
            self.wait_text("worker_%d.log" % rank, "RESULT")
        first.send_signal(signal.SIGKILL)
        first.wait(SECONDS)
        self.assertIn('\\"node_id\\":\\"1\\"', self.text("recovery.dat"))
        second = self.start(self.msrun(2), "second.log", **recovery)
        if second.wait(SECONDS) != 0 and (told := self.crash_behind_the_end(self.text("second.log"), ["worker_0.log", "worker_1.log"])):
            return told
        self.assertEqual(second.returncode, 0, self.text("second.log")[-3000:])
        self.assert_sum(2)
        self.assertEqual(self.text("scheduler.log").count("have been recovered"), 2, self.text("scheduler.log"))
        return ""


if __name__ == "__main__":
    unittest.main()
