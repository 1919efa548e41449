"""AutoParallel around the step, sharding propagation, 16 ranks."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.parallel.auto_parallel import AutoParallel
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()

B, H, F = 64, 256, 1024


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.up = Parameter(initializer("normal", [H, F], ms.float32), name="up")
        self.down = Parameter(initializer("normal", [F, H], ms.float32), name="down")
        self.first, self.second, self.act = ops.MatMul().shard(((4, 1), (1, 4))), ops.MatMul(), ops.ReLU()

    def construct(self, x):
        return ops.ReduceMean()(self.second(self.act(self.first(x, self.up)), self.down))


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3)
step = AutoParallel(nn.TrainOneStepCell(net, opt), parallel_mode="sharding_propagation")
step.dataset_strategy("full_batch")
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)))
print('done')
