"""A table cut by columns, tied to nothing; a head cut by words, cross entropy of the loss cell."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode='semi_auto_parallel', full_batch=True)
B, S, V, H, DP, MP = 16, 32, 512, 64, 4, 4


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.table = Parameter(initializer("normal", [V, H], ms.float32), name="table")
        self.position = Parameter(initializer("normal", [S, H], ms.float32), name="position")
        self.gather = ops.Gather().shard(((1, MP), (DP, 1)))
        self.plus = ops.Add().shard(((DP, 1, MP), (1, MP)))
        self.norm = nn.LayerNorm((H,))
        self.norm.layer_norm.shard(((DP, 1, 1), (1,), (1,)))
        self.head = nn.Dense(H, V, has_bias=False)
        self.head.matmul.shard(((DP, 1), (MP, 1)))
        self.loss = nn.CrossEntropyLoss()

    def construct(self, ids, labels):
        x = self.norm(self.plus(self.gather(self.table, ids, 0), self.position))
        logits = self.head(ops.reshape(x, (-1, H)))
        return self.loss(logits, ops.reshape(labels, (-1,)))


def rows():
    for _ in range(2):
        yield np.ones([B, S]).astype(np.int32), np.ones([B, S]).astype(np.int32)


net = Net()
opt = nn.Adam(net.trainable_params(), learning_rate=nn.CosineDecayLR(0.0, 1e-3, 100))
data = ds.GeneratorDataset(rows, ["ids", "labels"])
Model(net, optimizer=opt).train(1, data, dataset_sink_mode=False)
print('done')
