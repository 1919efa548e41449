"""shard() of a Cell whose weights a parameter_plan cuts, called in place; what is around it follows by propagation."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="full_batch")


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = nn.Dense(128, 256)
        self.second = nn.Dense(256, 128)

    def construct(self, x):
        return self.second(ops.relu(self.first(x)))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.cut, self.rest = Block(), Block()
        self.cut.shard(in_strategy=((8, 1),), parameter_plan={"self.cut.second.weight": (8, 1)})

    def construct(self, x):
        return ops.ReduceSum()(self.rest(self.cut(x)))


net = Net()
step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1)).set_train()
step(ms.Tensor(np.ones((32, 128)), ms.float32))
print('done')
