"""torchrun's command lines under msrun: understood, or answered with what works here."""

import unittest

import launch

SHOW = """import os
print("SEEN", *(os.environ.get(name) for name in (
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_NAME", "TORCHELASTIC_RESTART_COUNT",
    "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_USE_AGENT_STORE")), bool(os.environ.get("TORCHELASTIC_RUN_ID")))
import torch_stand_in  # what decides is the name in the next line
import torch
"""


class TorchrunTest(launch.LaunchTest):
    def setUp(self):
        super().setUp()
        for name in ("torch", "torch_stand_in"):
            self.write(name + ".py", "")
        self.write("train.py", SHOW)

    def seen(self, rank):
        return self.log("worker_%d.log" % rank).split()

    def test_one_node(self):
        run = self.launch(0, "--standalone", "--nproc-per-node", 2, "--max_restarts=1", "train.py")
        self.assertEqual(run.status, 0, run.err)
        for rank in (0, 1):
            self.assertEqual(self.seen(rank), ["SEEN", str(rank), "2", str(rank), "2", "0", "default", "0", "1", "False", "True"])

    def test_module(self):
        run = self.launch(0, "--nproc_per_node=2", "-m", "train")
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(self.seen(1)[1:4], ["1", "2", "1"])

    def test_program_without_python(self):
        run = self.launch(0, "--nproc_per_node=2", "--no_python", "bash", "-c", "echo $RANK of $WORLD_SIZE")
        self.assertEqual((run.status, self.log("worker_1.log")), (0, "1 of 2\n"), run.err)

    def test_what_is_not_handled_is_one_line(self):
        for arguments, what in ((["--nnodes=1:4"], "ranges of nodes are not handled"),
                                (["--nproc_per_node=gpu"], "give the number of ranks"),
                                (["--nnodes=2", "--nproc_per_node=1", "--rdzv_backend=etcd"], "launchers agree over --rdzv_endpoint")):
            run = self.launch(0, *arguments, "train.py")
            self.assert_refused(run, 2, "USAGE")
            self.assertIn(what, run.err)


if __name__ == "__main__":
    unittest.main()
