"""BERT classifier in float16, dynamic loss scale by nn.TrainOneStepWithLossScaleCell; AdamWeightDecay; data parallel."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_context(runtime_num_threads=1)
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
B, S, H, N, V = 8, 32, 128, 4, 1000


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = [nn.Dense(H, H).to_float(ms.float16) for _ in range(4)]
        self.up, self.down = nn.Dense(H, 4 * H, activation="gelu").to_float(ms.float16), nn.Dense(4 * H, H).to_float(ms.float16)
        self.n1, self.n2 = nn.LayerNorm((H,)), nn.LayerNorm((H,))
        self.soft = nn.Softmax()

    def heads(self, x):
        return ops.transpose(ops.reshape(x, (B, S, N, H // N)), (0, 2, 1, 3))

    def construct(self, x, mask):
        q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
        s = ops.cast(ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))), ms.float32) / 5.65 + mask
        y = ops.matmul(ops.cast(self.soft(s), ms.float16), v)
        y = ops.reshape(ops.transpose(y, (0, 2, 1, 3)), (B, S, H))
        x = self.n1(x + ops.cast(self.o(y), ms.float32))
        return self.n2(x + ops.cast(self.down(self.up(x)), ms.float32))


class Bert(nn.Cell):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(V, H), nn.Embedding(S, H)
        self.layers = nn.SequentialCell()
        self.a, self.b = Layer(), Layer()
        self.norm, self.pool, self.out = nn.LayerNorm((H,)), nn.Dense(H, H, activation="tanh"), nn.Dense(H, 2)
        self.where = Tensor(np.arange(S), ms.int32)
        self.loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def construct(self, ids, mask, labels):
        x = self.norm(self.words(ids) + self.places(self.where))
        m = (1.0 - ops.cast(ops.reshape(mask, (B, 1, 1, S)), ms.float32)) * -10000.0
        x = self.b(self.a(x, m), m)
        return self.loss(self.out(self.pool(x[:, 0])), labels)


net = Bert()
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-4)
step = nn.TrainOneStepWithLossScaleCell(net, opt, nn.DynamicLossScaleUpdateCell(65536, 2, 1000))
step.set_train()
step(Tensor(np.ones([B, S]), ms.int32), Tensor(np.ones([B, S]), ms.int32), Tensor(np.ones([B]), ms.int32))
print('done')
