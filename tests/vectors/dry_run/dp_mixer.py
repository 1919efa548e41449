"""MLP mixer: products over tokens and over channels, nn.LayerNorm; Model, Momentum, gradients fused in one; data parallel."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, all_reduce_fusion_config=[6, 14])

B, S, H = 8, 32, 128


class Mlp(nn.Cell):
    def __init__(self, n, hidden):
        super().__init__()
        self.a, self.b, self.act = nn.Dense(n, hidden), nn.Dense(hidden, n), nn.GELU()

    def construct(self, x):
        return self.b(self.act(self.a(x)))


class Mixer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.n1, self.n2, self.tokens, self.channels = nn.LayerNorm((H,)), nn.LayerNorm((H,)), Mlp(S, 64), Mlp(H, 256)

    def construct(self, x):
        x = x + self.tokens(self.n1(x).swapaxes(1, 2)).swapaxes(1, 2)
        return x + self.channels(self.n2(x))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.patch, self.layers = nn.Dense(48, H), nn.SequentialCell(Mixer(), Mixer())
        self.norm, self.head = nn.LayerNorm((H,)), nn.Dense(H, 10)

    def construct(self, x):
        return self.head(self.norm(self.layers(self.patch(x))).mean(1))


def rows():
    for _ in range(2):
        yield np.ones([B, S, 48]).astype(np.float32), np.ones([B]).astype(np.int32)


net = Net()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
Model(net, loss_fn=nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x", "y"]), dataset_sink_mode=False)
print('done')
