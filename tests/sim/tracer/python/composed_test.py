"""Functions and layers that are compositions, or operators whose form alone is known: they record, and their results have the shapes
that the arithmetic of windows, products and reductions gives (worked out by hand beside each row where it is not plain)."""
import unittest

from helper import TraceTest

HEAD = '''
import mindspore as ms
from mindspore import nn, ops, mint, Tensor
F = mint.nn.functional


def T(*shape, d=ms.float32):
    return Tensor(shape=shape, dtype=d)


img, seq, vol, m, whole = T(2, 3, 16, 16), T(2, 4, 10), T(2, 3, 8, 8, 8), T(4, 6), T(4, 6, d=ms.int32)
'''

# expression, shape of the (first) result
ROWS = [
    # lines: nn.Conv1d pads to the same length, mint's takes what padding leaves: 10 + 2 - 3 + 1 = 10
    ("nn.Conv1d(4, 8, 3)(seq)", (2, 8, 10)), ("mint.nn.Conv1d(4, 8, 3, padding=1)(seq)", (2, 8, 10)),
    ("ops.conv1d(seq, T(8, 4, 3))", (2, 8, 8)), ("ops.conv2d(img, T(8, 3, 3, 3), pad_mode='same')", (2, 8, 16, 16)),
    ("nn.Conv3d(3, 8, 3)(vol)", (2, 8, 8, 8, 8)), ("mint.nn.Conv3d(3, 8, 3)(vol)", (2, 8, 6, 6, 6)),
    ("mint.nn.Conv2d(3, 8, 3, padding=1, padding_mode='reflect')(img)", (2, 8, 16, 16)),
    ("mint.nn.ConvTranspose2d(3, 8, 3, 2)(img)", (2, 8, 33, 33)),  # 15 * 2 + 3
    ("nn.Conv1dTranspose(4, 8, 3, 2)(seq)", (2, 8, 20)), ("nn.Conv3dTranspose(3, 8, 3, pad_mode='valid')(vol)", (2, 8, 10, 10, 10)),
    ("nn.MaxPool1d(2, 2)(seq)", (2, 4, 5)), ("nn.AvgPool1d(3, 2)(seq)", (2, 4, 4)), ("nn.MaxPool3d(2, 2)(vol)", (2, 3, 4, 4, 4)),
    ("mint.nn.MaxPool2d(3, 2, 1)(img)", (2, 3, 8, 8)),  # (16 + 2 - 3) // 2 + 1
    ("F.avg_pool2d(img, 3, 2, ceil_mode=True)", (2, 3, 8, 8)),  # ceil(13 / 2) + 1
    ("mint.nn.AdaptiveAvgPool2d((5, 1))(img)", (2, 3, 5, 1)), ("nn.AdaptiveAvgPool1d(5)(seq)", (2, 4, 5)),
    ("nn.PixelShuffle(2)(T(2, 8, 4, 4))", (2, 2, 8, 8)), ("nn.PixelUnshuffle(2)(img)", (2, 12, 8, 8)),
    ("F.interpolate(img, scale_factor=2)", (2, 3, 32, 32)), ("F.interpolate(img, size=(5, 7), mode='bilinear')", (2, 3, 5, 7)),
    ("F.interpolate(vol, scale_factor=2, mode='trilinear')", (2, 3, 16, 16, 16)),
    ("F.unfold(img, 3)", (2, 27, 196)), ("ops.fold(T(2, 12, 9), (4, 4), (2, 2))", (2, 3, 4, 4)),  # 14 * 14 blocks; 12 / 4 channels
    ("F.grid_sample(img, T(2, 4, 5, 2))", (2, 3, 4, 5)), ("nn.ZeroPad2d(1)(img)", (2, 3, 18, 18)),
    ("nn.Pad(((0, 0), (1, 2)))(m)", (4, 9)), ("ops.pad(m, (1, 1))", (4, 8)), ("nn.ReflectionPad2d((1, 1, 0, 0))(img)", (2, 3, 16, 18)),
    # normalisation and activation keep the shape
    ("nn.BatchNorm3d(3)(vol)", (2, 3, 8, 8, 8)), ("mint.nn.BatchNorm1d(4)(seq)", (2, 4, 10)), ("nn.InstanceNorm2d(3)(img)", (2, 3, 16, 16)),
    ("mint.nn.GroupNorm(3, 3)(img)", (2, 3, 16, 16)), ("nn.LeakyReLU()(m)", (4, 6)), ("nn.HSwish()(m)", (4, 6)), ("nn.GLU()(m)", (4, 3)),
    ("nn.Mish()(m)", (4, 6)), ("nn.HShrink()(m)", (4, 6)), ("mint.nn.Hardswish()(m)", (4, 6)), ("mint.nn.ELU()(m)", (4, 6)),
    ("nn.Dropout2d(0.5).set_train()(img)", (2, 3, 16, 16)), ("mint.nn.Embedding(10, 5)(whole)", (4, 6, 5)),
    ("nn.Conv2dBnAct(3, 4, 3, has_bn=True, activation='relu')(img)", (2, 4, 16, 16)),
    # recurrent layers: (steps, batch, hidden x directions), state per layer and direction
    ("nn.LSTM(6, 8, 2, batch_first=True, bidirectional=True)(T(2, 5, 6))[0]", (2, 5, 16)),
    ("nn.LSTM(6, 8, 2, bidirectional=True)(T(5, 2, 6))[1][1]", (4, 2, 8)), ("nn.GRU(6, 16)(T(5, 2, 6))[1]", (1, 2, 16)),
    ("nn.RNN(6, 8)(T(5, 2, 6))[0]", (5, 2, 8)), ("nn.LSTMCell(6, 8)(T(2, 6), (T(2, 8), T(2, 8)))[1]", (2, 8)),
    ("nn.GRUCell(6, 8)(T(2, 6), T(2, 8))", (2, 8)),
    # losses
    ("mint.nn.CrossEntropyLoss()(m, T(4, d=ms.int64))", ()), ("mint.nn.MSELoss()(m, m)", ()), ("mint.nn.KLDivLoss()(m, m)", ()),
    ("mint.nn.BCEWithLogitsLoss()(m, m)", ()), ("ops.ctc_loss(T(5, 2, 6), T(2, 3, d=ms.int32), T(2, d=ms.int32), T(2, d=ms.int32))[0]", ()),
    # primitives
    ("ops.Pad(((1, 1), (0, 2)))(m)", (6, 8)), ("ops.FloatStatus()(m)", (1,)), ("ops.NMSWithMask(0.5)(T(7, 5))[2]", (7,)),
    ("ops.DepthToSpace(2)(T(2, 8, 4, 4))", (2, 2, 8, 8)), ("ops.SpaceToDepth(2)(img)", (2, 12, 8, 8)), ("ops.IsNan()(m)", (4, 6)),
    ("ops.MaxPoolWithArgmax(3, 2, 'same')(img)[1]", (2, 3, 8, 8)), ("ops.AdaptiveAvgPool2D(4)(img)", (2, 3, 4, 4)),
    ("ops.BoundingBoxDecode(max_shape=(64, 64))(T(7, 4), T(7, 4))", (7, 4)), ("ops.Dropout2D(0.5)(img)[0]", (2, 3, 16, 16)),
    # products
    ("mint.einsum('bij,bjk->bik', T(2, 3, 4), T(2, 4, 5))", (2, 3, 5)), ("ops.einsum('i,j->ij', T(3), T(4))", (3, 4)),
    ("ops.einsum('bhid,bhjd->bhij', T(2, 2, 3, 4), T(2, 2, 5, 4))", (2, 2, 3, 5)),
    ("ops.einsum('...d,de->...e', T(2, 3, 4), T(4, 5))", (2, 3, 5)), ("ops.einsum('ab,bc,cd->da', T(2, 3), T(3, 4), T(4, 5))", (5, 2)),
    ("mint.addmm(m, T(4, 5), T(5, 6), alpha=2)", (4, 6)), ("mint.baddbmm(T(2, 3, 5), T(2, 3, 4), T(2, 4, 5))", (2, 3, 5)),
    # rearranging, reducing, drawing
    ("mint.flip(m, (0,))", (4, 6)), ("mint.roll(m, 1, 0)", (4, 6)), ("mint.unbind(m)[0]", (6,)), ("mint.hstack((m, m))", (4, 12)),
    ("mint.diff(m)", (4, 5)), ("mint.t(m)", (6, 4)), ("mint.trace(m)", ()), ("mint.diag(T(4), 1) + 0", (5, 5)), ("mint.std(m, dim=1)", (4,)),
    ("mint.var(m, dim=1, keepdim=True)", (4, 1)), ("mint.logsumexp(m, 1)", (4,)), ("mint.median(m, dim=1)[0]", (4,)),
    ("mint.argsort(m)", (4, 6)), ("mint.cumprod(m, 0)", (4, 6)), ("mint.isnan(m)", (4, 6)), ("mint.isclose(m, m)", (4, 6)),
    ("ops.svd(m, compute_uv=False)", (4,)), ("ops.cosine_similarity(m, m)", (4,)), ("ops.gumbel_softmax(m, hard=True)", (4, 6)),
    ("mint.multinomial(m, 2, True)", (4, 2)), ("mint.randn_like(m)", (4, 6)), ("mint.rand(2, 3) * m[:2, :3]", (2, 3)),
    ("mint.randint(0, 5, (4, 6)) + whole", (4, 6)), ("mint.full_like(m, 2) + m", (4, 6)), ("ms.numpy.rot90(m)", (6, 4)),
    ("ms.numpy.isin(m, [1.0, 2.0])", (4, 6)), ("ms.numpy.array_split(m, 4, 1)[3]", (4, 1)),
]

ASK = '''
for text, wanted in ROWS:
    try:
        found = eval(text)
        shape = found.shape if isinstance(found, Tensor) else found[0].shape
        print("ROW", text, "|", shape if shape == wanted else "wrong: %s" % (shape,))
    except Exception as error:
        print("ROW", text, "|", repr(error))
'''

TRAINED = HEAD + '''
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn, self.head = mint.nn.Embedding(10, 6), nn.LSTM(6, 8), nn.Dense(8, 3)

    def construct(self, ids):
        return self.head(self.rnn(self.embed(ids))[0]).mean()


net = Net()
step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params()))
step(T(5, 2, d=ms.int32))
'''

TYPES = '''
from mindspore.experimental import optim
net = nn.Dense(4, 4)
for made in (optim.AdamW(net.trainable_params(), 1e-3), optim.Adam(net.trainable_params()), optim.SGD(net.trainable_params(), 0.1)):
    both = ms.value_and_grad(lambda x: net(x).mean(), None, made.parameters)
    rate = optim.lr_scheduler.StepLR(made, 10)
    loss, grads = both(T(4, 4))
    made(grads)
    rate.step()
print("STEPPED", rate.last_epoch)
'''


DISTRIBUTED = HEAD + '''
from mindspore.mint import distributed as dist
dist.init_process_group()
assert dist.is_initialized() and dist.get_world_size() == 8 and len(dist.get_process_group_ranks()) == 8
pair = dist.new_group([0, 1])


class Net(nn.Cell):
    def construct(self, x, parts, out):
        dist.all_reduce(x)                               # in place
        dist.all_gather_into_tensor(out, x)
        dist.reduce_scatter_tensor(parts, out)
        return x * 2, parts, out


for found in Net()(T(8, 4), T(8, 4), T(64, 4)):
    print("SHAPE", found.shape)
'''


class Composed(TraceTest):
    def test_shapes(self):
        run = self.trace("ROWS = %r\n" % (ROWS,) + HEAD + ASK + "nn.Dense(6, 6)(m)\n")
        found = dict(line[4:].split(" | ") for line in run.output.splitlines() if line.startswith("ROW "))
        self.assertEqual({text: found.get(text) for text, wanted in ROWS if found.get(text) != str(wanted)}, {})

    def test_operators_without_an_entry_are_trained_through(self):
        run = self.trace(TRAINED)
        self.assertIn("DynamicRNN", self.ops(run))
        # weight and bias of the head, two weights and two biases of the LSTM, the table
        self.assertEqual(sum(op == "Adam" for op in self.ops(run)), 7)

    def test_attention_layers_in_half_precision(self):
        """MindSpore 2.10 scales and multiplies in float16 there: its products take operands of one element type."""
        run = self.trace(HEAD + "net = ms.amp.auto_mixed_precision(nn.TransformerEncoderLayer(8, 2, 16), 'O2')\nnet(T(4, 2, 8))\n")
        self.assertEqual(self.ops(run).count("Div"), 2)  # queries and keys

    def test_attention_layers_where_cells_of_a_list_are_in_half_precision(self):
        """Attention reads the weight of its last layer, which O1 has put into a cell of its own."""
        run = self.trace(HEAD + "net = ms.amp.auto_mixed_precision(nn.TransformerEncoderLayer(8, 2, 16), 'O1')\nnet(T(4, 2, 8))\n")
        # four products with weights of attention, two of its scores, two of the layers behind it
        self.assertEqual(sum(op.startswith(("MatMul", "BatchMatMul")) for op in self.ops(run)), 8)

    def test_names_that_mindspore_has_elsewhere_only(self):
        error = self.error(HEAD + "ops.normalize(m)\n")
        self.assertEqual((error["family"], error["type"]), ("user", "AttributeError"))

    def test_collectives_that_write_in_place(self):
        run = self.trace(DISTRIBUTED)
        self.assertEqual([op for op in self.ops(run) if op in ("AllReduce", "AllGather", "ReduceScatter", "Muls")],
                         ["AllReduce", "AllGather", "ReduceScatter", "Muls"])
        shapes = [line for line in run.output.splitlines() if line.startswith("SHAPE")]
        self.assertEqual(shapes, ["SHAPE (8, 4)", "SHAPE (8, 4)", "SHAPE (64, 4)"])

    def test_collectives_that_give_new_tensors(self):
        """Signatures of MindSpore 2.10: all but barrier, send and recv give (tensor, handle); 8 ranks."""
        run = self.trace(HEAD + """
from mindspore.communication import comm_func as C
from mindspore.mint import distributed as dist
class Net(nn.Cell):
    def construct(self, x):
        y, none = C.all_gather_into_tensor(x)
        z, handle = C.reduce_scatter_tensor(y, "sum", async_op=True)
        handle.wait()
        assert none is None
        out = T(8, 4)
        dist.reduce_scatter(out, [x] * 8)
        return C.all_reduce(x, op="max")[0], y, z, out
for found in Net()(T(8, 4)):
    print("SHAPE", found.shape)
""")
        self.assertEqual(sorted(op for op in self.ops(run) if op in ("AllReduce", "AllGather", "ReduceScatter")),
                         ["AllGather", "AllReduce", "ReduceScatter", "ReduceScatter"])
        shapes = [line for line in run.output.splitlines() if line.startswith("SHAPE")]
        self.assertEqual(shapes, ["SHAPE (8, 4)", "SHAPE (64, 4)", "SHAPE (8, 4)", "SHAPE (8, 4)"])

    def test_optimizers_of_experimental(self):
        run = self.trace(HEAD + TYPES)
        self.assertIn("STEPPED 0", run.output)

    def test_a_term_that_does_not_fit(self):
        error = self.error(HEAD + "ops.einsum('ijk,jk->i', m, m)\n")
        self.assertEqual((error["family"], error["type"]), ("user", "ValueError"))
        self.assertIn("3 letters", error["message"])


if __name__ == "__main__":
    unittest.main()
