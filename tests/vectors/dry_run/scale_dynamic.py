"""TrainOneStepWithLossScaleCell with a dynamic scale in semi-automatic mode."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, mint, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init, get_rank, get_group_size
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_context(runtime_num_threads=1)
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a = Parameter(initializer("normal", [256, 512], ms.float32), name="a")
        self.b = Parameter(initializer("normal", [512, 256], ms.float32), name="b")
        self.m1, self.m2 = ops.MatMul().shard(((2, 1), (1, 4))), ops.MatMul().shard(((2, 4), (4, 1)))
        self.relu, self.mean = ops.ReLU().shard(((2, 4),)), ops.ReduceMean().shard(((2, 1),))
        self.cast = ops.Cast()

    def construct(self, x):
        y = self.m1(self.cast(x, ms.float16), self.cast(self.a, ms.float16))
        return self.mean(self.cast(self.m2(self.relu(y), self.cast(self.b, ms.float16)), ms.float32))


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3)
step = nn.TrainOneStepWithLossScaleCell(net, opt, nn.DynamicLossScaleUpdateCell(1024, 2, 100))
step.set_train()
step(Tensor(np.ones([32, 256]), ms.float32))
print('done')
