"""Whole training steps of optimizers and clipping that combine elements of cut weights, and of look-ups by field."""

import unittest

import command

# w (64, 32), float32, cut (2, 4): each of 8 ranks holds 32 rows and 8 columns.
WEIGHT = '''import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="full_batch"); ms.communication.init()
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(shape=(64, 32), dtype=ms.float32), "w")
        self.mm = ops.MatMul().shard(((1, 2), (2, 4)))
    def construct(self, x):
        return ops.reduce_mean(self.mm(x, self.w))
net = Net()
weights = net.trainable_params()
x = Tensor(shape=(16, 64), dtype=ms.float32)
{step}
'''
CLIPPED = '''grads_of = ms.value_and_grad(net, None, weights)
optimizer = nn.Momentum(weights, 0.1, 0.9)
clip = nn.ClipByNorm()
@ms.jit
def step(x):
    loss, grads = grads_of(x)
    grads = {clip}
    optimizer(grads)
    return loss
step(x)'''

# A table of 32 rows of 16 float32; 8 samples of 8 look-ups, each in one of 3 fields.
FIELDS = '''import mindspore as ms
from mindspore import nn, ops, Tensor
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="full_batch"); ms.communication.init()
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.rows = nn.MultiFieldEmbeddingLookup(32, 16, 3, target="DEVICE", slice_mode="{mode}", operator="{operator}",
                                                 feature_num_list=[4] * 8)
    def construct(self, ids, values, fields):
        return ops.reduce_mean(self.rows(ids, values, fields))
net = Net()
ids, values, fields = (Tensor(shape=(8, 8), dtype=t) for t in (ms.int32, ms.float32, ms.int32))
nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))(ids, values, fields)
'''


class StepTest(command.CommandTest):
    def collectives(self, text, phase):
        """[(kind, payload bytes, ranks)] of a phase."""
        self.write("net.py", text)
        self.assert_accepted(self.msrun("--worker_num=8", "--log_dir=out", "net.py"))
        return [(item["kind"], item["payload_bytes"], item["group_size"])
                for item in self.report("communication.json", "out")["collectives"] if item["phase"] == phase]


class OptimizerStepTest(StepTest):
    def of_optimizer(self, optimizer):
        return self.collectives(WEIGHT.format(step="nn.TrainOneStepCell(net, %s)(x)" % optimizer), "optimizer")

    def test_lars_and_lamb_take_norms_of_slices(self):
        # MindSpore 2.10's dry run of both with weights cut 4 times: no collective but those of the gradients.
        for optimizer in ("nn.LARS(nn.Momentum(weights, 0.1, 0.9))", "nn.Lamb(weights, 0.1)"):
            with self.subTest(optimizer):
                self.assertEqual(self.of_optimizer(optimizer), [])

    def test_adafactor_averages_rows_and_columns(self):
        columns = ("AllReduce", 8 * 4, 2)  # means of a rank's 8 columns, whose rows 2 ranks hold
        rows = ("AllReduce", 32 * 4, 4)    # means of a rank's 32 rows, whose columns 4 ranks hold
        mean = ("AllReduce", 4, 2)         # mean of the means of 2 times 32 rows
        found = self.of_optimizer("nn.AdaFactor(weights)")
        # Collectives are listed as they are launched. Rows and columns do not wait for each other, the mean waits for
        # the rows.
        self.assertEqual(sorted(found), sorted([rows, columns, mean]))
        self.assertLess(found.index(rows), found.index(mean))

    def test_adafactor_holds_moments_as_the_weight_its_rows_and_columns(self):
        self.of_optimizer("nn.AdaFactor(weights)")
        [ranks] = self.report("memory.json", "out")["classes"]
        # The first moment as the slice of w, 32 * 8 float32; 32 row and 8 column moments. A block of the pool is
        # 32 bytes longer, rounded up to 512: 1024 takes 1536, 128 and 32 take 512 each.
        held = {item["part"]: item["bytes"] for item in ranks["breakdown"]}
        self.assertEqual(held["optimizer_state"], 1536 + 512 + 512)

    def test_clipping_by_the_norm_of_all_gradients_sums_once(self):
        found = self.collectives(WEIGHT.format(step=CLIPPED.format(clip="ops.clip_by_global_norm(grads, 1.0)")), "backward")
        self.assertEqual(found[-1], ("AllReduce", 4, 8))

    def test_clipping_each_gradient_takes_norms_of_slices(self):
        clip = "tuple(clip(g, Tensor(1.0, ms.float32)) for g in grads)"
        found = self.collectives(WEIGHT.format(step=CLIPPED.format(clip=clip)), "backward")
        self.assertNotIn(("AllReduce", 4, 8), found)


class FieldsTest(StepTest):
    def forward(self, mode, operator="SUM"):
        found = self.collectives(FIELDS.format(mode=mode, operator=operator), "forward")
        self.assertEqual(found.pop(), ("AllReduce", 4, 8))  # the mean over cut results
        return found

    def test_rows_of_the_table_on_different_ranks(self):
        # 8 x 8 rows of 16 float32 are 4096 B, of which a rank gets those of its sample; all are needed then.
        self.assertEqual(self.forward("table_row_slice"), [("ReduceScatter", 4096, 8), ("AllGather", 4096 // 8, 8)])

    def test_columns_of_the_table_on_different_ranks(self):
        # 8 x 3 fields of 16 / 8 columns.
        self.assertEqual(self.forward("table_column_slice"), [("AllGather", 24 * 2 * 4, 8)])

    def test_samples_or_look_ups_on_different_ranks(self):
        # Parts of the sums of 8 x 3 fields of 16 columns; for the mean, the weights of 8 x 3 fields, too.
        for mode in ("batch_slice", "field_slice"):
            with self.subTest(mode):
                self.assertEqual(self.forward(mode), [("AllReduce", 24 * 16 * 4, 8)])
                self.assertEqual(self.forward(mode, "MAX"), [("AllReduce", 24 * 16 * 4, 8)])
                # The two sums do not wait for each other: their order is that of the launches, either is right.
                self.assertCountEqual(self.forward(mode, "MEAN"),
                                      [("AllReduce", 24 * 16 * 4, 8), ("AllReduce", 24 * 4, 8)])


if __name__ == "__main__":
    unittest.main()
