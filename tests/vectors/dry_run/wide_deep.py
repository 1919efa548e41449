"""Wide and deep: two tables cut by rows, products by hand, sigmoid cross entropy; FTRL for one half, Adam for the other."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
B, F, V, E, DP = 64, 8, 4096, 32, 8


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.wide = Parameter(initializer("normal", [V, 1], ms.float32), name="wide")
        self.deep = Parameter(initializer("normal", [V, E], ms.float32), name="deep")
        self.w1 = Parameter(initializer("normal", [F * E, 128], ms.float32), name="w1")
        self.w2 = Parameter(initializer("normal", [128, 1], ms.float32), name="w2")
        self.look_wide, self.look_deep = ops.Gather().shard(((8, 1), (1, 1))), ops.Gather().shard(((8, 1), (1, 1)))
        self.sum = ops.ReduceSum().shard(((DP, 1, 1),))
        self.p1, self.p2 = ops.MatMul().shard(((DP, 1), (1, 1))), ops.MatMul().shard(((DP, 1), (1, 1)))
        self.relu, self.add = ops.ReLU().shard(((DP, 1),)), ops.Add().shard(((DP, 1), (DP, 1)))
        self.loss = ops.SigmoidCrossEntropyWithLogits().shard(((DP, 1), (DP, 1)))
        self.mean, self.reshape = ops.ReduceMean().shard(((DP, 1),)), ops.Reshape()

    def construct(self, ids, labels):
        wide = self.sum(self.look_wide(self.wide, ids, 0), 1)
        deep = self.reshape(self.look_deep(self.deep, ids, 0), (-1, F * E))
        out = self.add(wide, self.p2(self.relu(self.p1(deep, self.w1)), self.w2))
        return self.mean(self.loss(out, labels), (0, 1))


def rows():
    for _ in range(2):
        yield np.ones([B, F]).astype(np.int32), np.ones([B, 1]).astype(np.float32)


net = Net()
opt = nn.FTRL(net.trainable_params(), learning_rate=0.1)
Model(net, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["ids", "labels"]), dataset_sink_mode=False)
print('done')
