"""mindspore.parallel.shard of a Cell and of a function inside of a network, by Layouts; a Layout in the parameter_plan."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops
from mindspore.communication import init
from mindspore.parallel import Layout, shard

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")
init()
ms.set_auto_parallel_context(parallel_mode="auto_parallel", search_mode="sharding_propagation", dataset_strategy="full_batch")
grid = Layout((2, 4), ("rows", "columns"))


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = nn.Dense(128, 256)
        self.second = nn.Dense(256, 128)

    def construct(self, x):
        return self.second(ops.tanh(self.first(x)))


def scaled(x, y):
    return ops.abs(x) * y


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.block, self.last = Block(), nn.Dense(128, 64)
        self.cut = shard(self.block, in_strategy=(grid("rows", "None"),), parameter_plan={"self.block.first.weight": grid("columns", "None")})
        self.scaled = shard(scaled, in_strategy=((2, 4), (2, 4)))

    def construct(self, x):
        y = self.cut(x)
        return ops.ReduceMean()(self.last(self.scaled(x, y)))


net = Net()
step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 0.1)).set_train()
step(ms.Tensor(np.ones((32, 128)), ms.float32))
print('done')
