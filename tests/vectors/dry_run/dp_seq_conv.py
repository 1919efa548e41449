"""Sequence mixer without recurrence: Conv1d along time, gates, residuals, nn.Embedding, dropout; Adam with a rate that decays; data parallel, sink."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)

B, S, H, V = 8, 32, 128, 256


class Gated(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv, self.gate = nn.Conv1d(H, H, 3), nn.Conv1d(H, H, 3)
        self.drop = nn.Dropout(p=0.2)

    def construct(self, x):
        return x + self.drop(ops.tanh(self.conv(x)) * ops.sigmoid(self.gate(x)))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.words, self.layers, self.head = nn.Embedding(V, H), nn.SequentialCell(Gated(), Gated(), Gated()), nn.Dense(H, V)

    def construct(self, ids):
        x = self.layers(ops.transpose(self.words(ids), (0, 2, 1)))
        return self.head(ops.transpose(x, (0, 2, 1)).reshape(-1, H))


def rows():
    for _ in range(2):
        yield np.ones([B, S]).astype(np.int32), np.ones([B * S]).astype(np.int32)


net = Net()
opt = nn.Adam(net.trainable_params(), nn.ExponentialDecayLR(1e-3, 0.9, 4))
Model(net, loss_fn=nn.CrossEntropyLoss(), optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x", "y"]), dataset_sink_mode=True)
print('done')
