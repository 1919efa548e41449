"""Rare functions, operators, layers and distributions: they record, and their results have the shapes that the arithmetic beside each
row gives. What is as long as the values say is recorded with its largest length, and the run says so."""
import unittest

from helper import TraceTest

HEAD = '''
import mindspore as ms
from mindspore import nn, ops, mint, Tensor
from mindspore.nn.probability import distribution as D
from mindspore.ops.auto_generate import gen_ops_prim as G
P = ops.operations


def T(*shape, d=ms.float32):
    return Tensor(shape=shape, dtype=d)


seq, img, m, whole = T(5, 2, 6), T(2, 3, 16, 16), T(4, 6), T(4, 6, d=ms.int32)
'''

# expression, shape of the (first) result
ROWS = [
    # as long as the values say: at most all 24 elements, two numbers to say where
    ("mint.nonzero(m)", (24, 2)), ("mint.nonzero(m, as_tuple=True)[1]", (24,)), ("ops.argwhere(img)", (1536, 4)),
    ("ops.masked_select(m, T(6, d=ms.bool_))", (24,)), ("P.MaskedSelect()(m, T(4, 1, d=ms.bool_))", (24,)),
    ("mint.unique_consecutive(m, True, True)[1]", (4, 6)), ("mint.unique_consecutive(m, dim=0)", (4, 6)),
    # compositions
    ("mint.allclose(m, m)", ()), ("ops.pows(m, m)", (4, 6)), ("ops.logsigmoid(m)", (4, 6)),
    ("mint.linalg.vector_norm(m, 2, 1)", (4,)), ("mint.linalg.vector_norm(m, float('inf'), 0, True)", (1, 6)),
    ("ops.composite.tensor_dot(T(2, 3, 4), T(4, 3, 5), ((1, 2), (1, 0)))", (2, 5)), ("ops.tensor_dot(T(2, 3, 4), T(3, 4, 7), 2)", (2, 7)),
    ("ops.composite.repeat_elements(m, 3, 1)", (4, 18)), ("ms.numpy.corrcoef(m)", (4, 4)), ("P.Morph(lambda x: x + 1)(m)", (4, 6)),
    ("P.Einsum('ij,kj->ik')((m, T(5, 6)))", (4, 5)), ("P.GatherV2()(m, T(3, d=ms.int32), 0)", (3, 6)), ("P.Pack()((m, m))", (2, 4, 6)),
    # forms: choices 3 x 4 x 2 of three rows; 4 over 2 = 6; 2049 - 400 samples
    ("ops.cartesian_prod(T(3), T(4), T(2))", (24, 3)), ("ops.combinations(T(4))", (6, 2)), ("ops.combinations(T(4), 2, True)", (10, 2)),
    ("mint.histc(m, 7)", (7,)), ("mint.linalg.qr(T(5, 3))[0]", (5, 3)), ("P.Qr(True)(T(5, 3))[1]", (5, 3)),
    ("ops.hann_window(16)", (16,)), ("ops.stft(T(2, 1600), 400, center=False)", (2, 201, 13, 2)),  # 1 + 1200 // 100 frames
    ("ops.angle(T(3, d=ms.complex64))", (3,)), ("P.LpNorm(1, keep_dims=True)(m)", (4, 1)), ("P.ReduceStd(0)(m)[1]", (6,)),
    ("P.DiagPart()(T(2, 3, 2, 3))", (2, 3)), ("P.Bucketize([1.0])(m)", (4, 6)), ("P.UniformInt()((2, 3), Tensor(0), Tensor(9))", (2, 3)),
    ("P.Randperm(8)(Tensor([4], ms.int32))", (8,)), ("P.RandomCategorical()(m, 3, 0)", (4, 3)),
    # gates of a hidden state of 8: weight (6 + 8, 4 * 8), and 3 * 8 of a GRU
    ("P.DynamicRNN()(seq, T(14, 32), T(32), None, T(1, 2, 8), T(1, 2, 8))[7]", (5, 2, 8)),
    ("P.DynamicGRUV2()(seq, T(6, 24), T(8, 24), T(24), T(24), None, T(2, 8))[0]", (5, 2, 8)),
    ("P.LSTM(6, 8, 1, True, True, 0.0)(seq, T(2, 2, 8), T(2, 2, 8), T(1000))[0]", (5, 2, 16)),
    # (16 + 2 - 2 - 1) // 2 + 1 = 8, rounded up 9; mask: (ceil(64 / 16) + 1) * 32 bytes
    ("G.MaxPoolWithIndices(3, 2, 1)(img)[1]", (2, 3, 8, 8)), ("G.MaxPoolWithIndices(3, 2, 1, 1, True)(img)[0]", (2, 3, 9, 9)),
    ("G.MaxPoolWithMask(3, 2, 1)(img)[1]", (2, 3, 9, 160)),
    ("P.Conv3DTranspose(3, 4, 3, stride=2)(T(2, 3, 5, 5, 5), T(3, 4, 3, 3, 3))", (2, 4, 11, 11, 11)),  # 4 * 2 + 3
    ("P.Im2Col(3, 1, 1, 0)(img)", (2, 3, 9, 196)), ("P.CTCLoss()(T(7, 2, 5), T(4, 2, d=ms.int64), T(4, d=ms.int32), T(2, d=ms.int32))[1]", (7, 2, 5)),
    ("P.CTCLossV2()(T(7, 2, 5), T(2, 3, d=ms.int32), T(2, d=ms.int32), T(2, d=ms.int32))[1]", (2, 7, 7)),  # 2 * 3 + 1 states
    # experts: 4 tokens in 2 copies, 3 slots for each of 5 experts where tokens are dropped
    ("G.MoeInitRoutingV2()(m, T(4, 2, d=ms.int32), active_num=0, expert_capacity=0, expert_num=5, drop_pad_mode=0, "
     "expert_tokens_count_or_cumsum_flag=2, expert_tokens_before_capacity_flag=True)[2]", (5,)),
    ("G.GroupedMatmulV4()([T(8, 6)], [T(3, 6, 4)], group_list=T(3, d=ms.int64), split_item=3, group_type=0)[0]", (8, 4)),
    ("G.GroupedMatmulV4()([T(8, 6), T(2, 6)], [T(6, 4), T(6, 5)])[1]", (2, 5)),
    ("G.MoeInitRoutingV2()(m, T(4, 2, d=ms.int32), 0, 0, 5, 0, 1, False)[0]", (8, 6)),
    ("G.MoeInitRoutingV2()(m, T(4, 2, d=ms.int32), 0, 3, 5, 1, 0, True)[0]", (5, 3, 6)),
    ("G.FusedAddTopKDiv()(T(4, 16), T(16), 4, 2, 2, 8)[1]", (4, 8)), ("G.MoeTokenUnpermute()(T(8, 6), T(8, d=ms.int32), T(4, 2))", (4, 6)),
    ("ops.speed_fusion_attention(T(2, 8, 64), T(2, 8, 64), T(2, 8, 64), 4, 'BSH')[1]", (2, 4, 8, 8)),
    # layers: windows of 11 in images of 16, one number an image
    ("nn.SSIM()(img, img)", (2,)), ("nn.Range(2, 12, 5)()", (2,)), ("nn.ForwardValueAndGrad(nn.Dense(6, 3), get_all=True)(m)[1][0]", (4, 6)),
    # latent attention: two heads of a key's 9 numbers (6 of them the value) for four tokens, plain heads for three
    ("G.PagedAttention(2, 1.0, 1, mla_v_dim=6)(T(4, 18), T(3, 2, 1, 9), T(3, 2, 1, 9), T(4, 2, d=ms.int32), T(4, d=ms.int32))", (4, 12)),
    ("G.PagedAttention(2, 1.0, 2)(T(3, 8), T(3, 2, 8), T(3, 2, 8), T(2, 2, d=ms.int32), T(2, d=ms.int32))", (3, 8)),
    # distributions: the densities of values, samples in front of the parameters' shape
    ("D.Normal(T(6), T(6))('log_prob', m)", (4, 6)), ("D.Normal(T(6), T(6)).sample((3,))", (3, 6)),
    ("D.Uniform(0.0, 1.0).prob(m)", (4, 6)), ("D.Exponential(T(6)).entropy()", (6,)), ("D.Gumbel(T(6), T(6)).sample((2,))", (2, 6)),
    ("D.Categorical(m).log_prob(T(4, d=ms.int32))", (4,)), ("D.Categorical(m).mean()", (4,)), ("D.Categorical(m).sample((3,))", (3, 4)),
]

DATA = '''
import os
from mindspore import dataset as ds, ParameterTuple, Parameter, nn, ops
from mindspore.dataset import audio, text
from mindspore.boost import GradientAccumulation
from mindspore.mint import distributed
vocab = text.Vocab.from_list(["a", "b"], special_tokens=["<unk>"])
print(vocab.vocab(), vocab.tokens_to_ids(["b", "c"]), vocab.ids_to_tokens(1))
with open("words.txt", "w") as file:
    file.write("x,3\\ny,4\\nz,5\\n")
print(text.Vocab.from_file("words.txt", ",", 2, ["<pad>"], False).vocab())
import numpy as np
rows = ds.GeneratorDataset([(np.zeros((1, 16000), np.float32),)] * 4, ["wave"])
print(rows.map(audio.Resample(16000, 8000)).output_shapes(), rows.map(audio.MelSpectrogram(n_mels=80)).output_shapes())
print(text.TruncateSequencePair(5)(np.zeros(4), np.zeros(3))[0].shape, ds.ConcatDataset([rows, rows]).get_dataset_size())
store = distributed.TCPStore("host", 1)
store.set("key", "value")
print(store.get("key"), store.add("count", 2), store.add("count", 3))
from mindspore.device_context.ascend.op_precision import precision_mode
print(precision_mode("force_fp16"), ms.device_context.ascend.device_count(), ms.hal.get_device_properties(0).name)


class Step(nn.Cell):
    def __init__(self):
        super().__init__()
        self.net = nn.Dense(6, 3)
        self.add = GradientAccumulation(2, nn.SGD(self.net.trainable_params(), 0.1))
        self.grad = ops.value_and_grad(lambda x: self.net(x).mean(), None, self.net.trainable_params())

    def construct(self, x):
        loss, grads = self.grad(x)
        return self.add(loss, grads)


Step()(m)
'''


class Rare(TraceTest):
    def test_results_have_the_shapes_that_arithmetic_gives(self):
        calls = HEAD + "for text in %r:\n" % [row[0] for row in ROWS] + '''
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.text = text

        def construct(self, x):
            found = eval(self.text)
            return found[0] if isinstance(found, tuple) else found

    try:
        print(text, "|", tuple(Net()(m).shape))
    except Exception as error:
        print(text, "|", repr(error))
'''
        run = self.trace(calls)
        found = dict(line.split(" | ", 1) for line in run.output.splitlines() if " | " in line)
        self.assertEqual({text: found.get(text) for text, shape in ROWS if found.get(text) != repr(shape)}, {})
        said = [line for line in run.warnings if "depends on values" in str(line)]
        self.assertGreaterEqual(len(said), 1, run.warnings)

    def test_tables_of_words_waves_and_summed_gradients(self):
        run = self.trace(HEAD + DATA)
        self.assertEqual(run.output.splitlines(), [
            "{'<unk>': 0, 'a': 1, 'b': 2} [2, -1] a", "{'x': 0, 'y': 1, '<pad>': 2}",
            "[[1, 8000]] [[1, 80, 81]]",  # 1 + 16000 // 200 windows
            "(3,) 8",  # 4 + 3 -> 3 + 3 -> 3 + 2: the longer one gives way, the second where both are equal
            "b'value' 2 5", "None 8 Ascend"])
        updates = [node["op"] for node in run.documents[-1]["nodes"] if node["op"] in ("AssignAdd", "SGD")]
        self.assertEqual((updates.count("AssignAdd"), updates.count("SGD")), (3, 2))  # weight and bias, and the number of the step


if __name__ == "__main__":
    unittest.main()
