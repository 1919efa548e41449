"""Embedding tables cut by hand: every rank holds as many rows as its part has (wide and deep networks)."""

import unittest

import command

# A table of {total} rows, field k looked up in part k; a product behind it. Momentum has one state per weight.
SCRIPT = '''import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor
ms.set_context(mode=ms.GRAPH_MODE)
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="full_batch"); ms.communication.init()
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.deep = nn.EmbeddingLookup({total}, 256, target="{target}", slice_mode="field_slice",
                                       manual_shapes={rows})
        self.flat = ops.Reshape()
        self.w = Parameter(Tensor(shape=(256 * {fields}, 16), dtype=ms.float32), "w")
        self.mm = ops.MatMul().shard(((1, {fields}), ({fields}, 1)))
        self.mean = ops.ReduceMean()
    def construct(self, x):
        y = self.deep(x)
        return self.mean(self.mm(self.flat(y, (4, 256 * {fields})), self.w))
net = Net()
step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
step.set_train()
step(Tensor(shape=(4, {fields}), dtype=ms.int32))
'''


class HandCutTablesTest(command.CommandTest):
    def run_tables(self, rows, target="DEVICE", *flags):
        self.write("net.py", SCRIPT.format(total=sum(rows), rows=tuple(rows), fields=len(rows), target=target))
        run = self.msrun("--worker_num=%d" % len(rows), "--log_dir=out", *flags, "net.py")
        self.assert_accepted(run)
        return self.report("summary.json", "out")

    def table(self, ranks):
        """Bytes of the table and of its state on some ranks."""
        item = next(item for item in self.report("memory.json", "out")["classes"] if item["ranks"] == ranks)
        parts = {part["part"]: part["bytes"] for part in item["breakdown"]}
        return parts["parameters"], parts["optimizer_state"]

    def test_two_ranks_hold_tables_of_their_own_length(self):
        summary = self.run_tables([64, 448])
        self.assertEqual([item["ranks"] for item in summary["memory"]], ["0", "1"])
        self.assertTrue(summary["agreement"]["holds"])
        self.assertIn("hand-cut-table", [item["code"] for item in summary["diagnostics"]])
        # 384 more rows of 256 float32 on rank 1: 393216 B, of the table and of its moment.
        few, many = self.table("0"), self.table("1")
        self.assertEqual([b - a for a, b in zip(few, many)], [393216, 393216])

    def test_eight_ranks_with_three_lengths_are_three_classes(self):
        summary = self.run_tables([64, 64, 128, 64, 64, 512, 128, 64])
        self.assertEqual([item["ranks"] for item in summary["memory"]], ["0-1,3-4,7", "2,6", "5"])
        self.assertEqual(summary["ranks_checked"], 8)

    def test_look_up_on_the_host(self):
        summary = self.run_tables([64, 448], "CPU")
        self.assertEqual(len(summary["memory"]), 2)

    def test_one_rank_is_described_in_full(self):
        summary = self.run_tables([64, 448], "DEVICE", "--sim_rank_id=1")
        self.assertEqual([item["ranks"] for item in summary["memory"]], ["1"])
        self.run_tables([64, 448])
        everyone = self.report("memory.json", "out")["classes"][1]["actual_peak_bytes"]
        self.assertEqual(summary["memory"][0]["actual_peak_bytes"], everyone)


if __name__ == "__main__":
    unittest.main()
