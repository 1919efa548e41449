"""The folder of the reports: one run at a time, never an answer of another run, figures that fit together."""

import csv
import fcntl
import hashlib
import json
import os

import command

# Forward: relu(x w1) w2 with x (128, 32), w1 (32, 64), w2 (64, 16), float32; one step of SGD.
TRAINED = '''import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w1 = Parameter(Tensor([[0.5] * 64] * 32, ms.float32), "w1")
        self.w2 = Parameter(Tensor([[0.5] * 16] * 64, ms.float32), "w2", requires_grad=True)
        self.frozen = Parameter(Tensor([0.5] * 16, ms.float32), "frozen", requires_grad=False)
        self.mm = ops.MatMul()
        self.relu = ops.ReLU()

    def construct(self, x):
        return self.mm(self.relu(self.mm(x, self.w1)), self.w2) + self.frozen


net = Net()
nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1))(Tensor([[0.5] * 32] * 128, ms.float32))
'''


class ReportsFolderTest(command.CommandTest):
    def play(self, *flags, script="net.py", folder="out"):
        run = self.msrun(*flags, "--log_dir", folder, script)
        self.assert_accepted(run)
        return run

    def test_rejected_run_leaves_no_report_of_the_one_before(self):
        self.write("net.py", command.network())
        self.play("--worker_num=8", "--detail=full")
        self.assertEqual(self.files("out"), sorted(command.REPORTS + ["kernels.csv", "profile.json"]))
        self.write("net.py", command.network(shard="((3, 1), (1, 1))"))
        self.assertEqual(self.msrun("--worker_num=8", "--log_dir=out", "net.py").status, 6)
        self.assertEqual(self.files("out"), ["summary.json"])

    def test_run_that_cannot_begin_leaves_none_either(self):
        self.write("net.py", command.network())
        self.play("--worker_num=8")
        self.assertEqual(self.msrun("--log_dir=out", "absent.py").status, 3)
        self.assertEqual(self.files("out"), [])

    def test_second_run_in_a_folder_is_refused(self):
        self.write("net.py", command.network())
        (self.folder / "out").mkdir()
        descriptor = os.open(self.folder / "out", os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            run = self.msrun("--log_dir=out", "net.py")
        finally:
            os.close(descriptor)
        self.assertEqual(run.status, 3)
        self.assertIn("another dry run is writing its reports here", run.errors()[0])
        self.assertEqual(self.files("out"), [])
        self.play()

    def test_answer_is_printed_where_no_folder_can_be_written(self):
        self.write("net.py", command.network())
        self.write("taken", "a file")
        self.assertEqual(self.msrun("--log_dir=taken", "net.py").status, 3)
        run = self.msrun("--worker_num=8", "--json", "--log_dir=taken", "net.py")
        self.assertEqual(run.status, 0, run.err)
        summary = json.loads(run.out)
        self.assertEqual((summary["verdict"], summary["files"]), ("ok", []))
        self.assertIn("no files are written", run.err)

    def test_every_file_says_which_run_it_belongs_to(self):
        self.write("net.py", command.network())
        self.play("--worker_num=8", "--detail=full")
        runs = [self.report(name, "out")["run"] for name in command.REPORTS]
        self.assertEqual(runs[0], runs[1])
        self.assertEqual(runs[0], runs[2])
        text = (self.folder / "net.py").read_bytes()
        self.assertEqual(runs[0]["subject_sha256"], hashlib.sha256(text).hexdigest())
        self.assertEqual(runs[0]["flags"][-1], "worker_num=8")
        self.assertEqual({row["run"] for row in self.kernels()}, {runs[0]["id"]})
        self.play("--worker_num=8", "--threads=1", folder="again")
        self.assertEqual(self.report("memory.json", "again")["run"]["id"], runs[0]["id"])
        self.play("--worker_num=4", folder="other")
        self.assertNotEqual(self.report("memory.json", "other")["run"]["id"], runs[0]["id"])

    def kernels(self):
        with open(self.folder / "out/kernels.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_tensors_and_kernels_sum_to_the_figures(self):
        self.write("net.py", TRAINED)
        self.play("--worker_num=1", "--detail=full")
        (ranks,) = self.report("memory.json", "out")["classes"]
        kernels = self.kernels()
        for row in kernels:
            k = int(row["kernel"])
            alive = sum(t["bytes"] for t in ranks["tensors"] if t["first_kernel"] <= k <= t["last_kernel"])
            self.assertEqual(alive, int(row["at_launch_bytes"]), row)
        peak = kernels[ranks["peak"]["kernel"]]
        self.assertEqual(peak["name"], ranks["peak"]["operator"])
        self.assertEqual(int(peak["at_launch_bytes"]), ranks["used_peak_bytes"])
        self.assertEqual(max(int(row["at_launch_bytes"]) for row in kernels), ranks["used_peak_bytes"])
        self.assertEqual(sum(layer["bytes"] for layer in ranks["by_layer"]), ranks["used_peak_bytes"])
        # The ReLU's result (128, 64) float32 is what backward reads: 32,768 bytes, with the pool's 512 more.
        self.assertEqual(ranks["kept_for_backward_bytes"], 32768 + 512)
        # w1 32 * 64, w2 64 * 16, frozen 16.
        summary = self.report("summary.json", "out")
        self.assertEqual(summary["trainable_parameter_count"], 2048 + 1024)
        self.assertEqual(summary["parameter_count"], 2048 + 1024 + 16)

    def test_traffic_between_nodes(self):
        # x (16, 32) cut (1, 8), w cut (8, 1): the product is a partial sum over all 8 ranks, once forward:
        # (2 * 8, 16) float32 = 1024 bytes, of which each rank sends 2 * 7/8. Two nodes: the ring of 8 leaves
        # its node at 3 -> 4 and 7 -> 0.
        self.write("net.py", command.network(shard="((1, 8), (8, 1))"))
        self.play("--worker_num=8", "--devices_per_node=4")
        traffic = self.report("communication.json", "out")["job"]
        collectives = self.report("communication.json", "out")["collectives"]
        (collective,) = [item for item in collectives if item["reason"] == "partial-sum"]
        self.assertEqual((collective["payload_bytes"], collective["sent_bytes"]), (1024, 1792))
        self.assertEqual(collective["inter_node_bytes"], 2 * 1792)
        # All ranks do the same: eight times what one does.
        self.assertEqual(traffic, {"devices_per_node": 4, "nodes": 2, "collectives": 8 * len(collectives),
                                   "sent_bytes": 8 * sum(item["sent_bytes"] for item in collectives),
                                   "intra_node_bytes": traffic["sent_bytes"] - traffic["inter_node_bytes"],
                                   "inter_node_bytes": sum(item["inter_node_bytes"] for item in collectives)})


if __name__ == "__main__":
    import unittest
    unittest.main()
