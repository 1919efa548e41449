"""One weight is used by both products, transposed the second time."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
B, H, F, DP, MP = 64, 256, 1024, 2, 4


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(initializer("normal", [H, F], ms.float32), name="weight")
        self.first = ops.MatMul().shard(((DP, 1), (1, MP)))
        self.act = ops.GeLU().shard(((DP, MP),))
        self.second = ops.MatMul(transpose_b=True).shard(((DP, MP), (1, MP)))

    def construct(self, x):
        return self.second(self.act(self.first(x, self.weight)), self.weight)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Layer() for _ in range(2)])
        self.square = ops.Square().shard(((DP, 1),))
        self.mean = ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        for c in self.blocks:
            x = c(x)
        return self.mean(self.square(x))


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)))
print('done')
