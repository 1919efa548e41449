"""auto_parallel by sharding propagation: one strategy for a chain with biases and norms."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="auto_parallel", search_mode='sharding_propagation', full_batch=True)
B, H, F = 64, 256, 1024


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.norm, self.act = nn.Dense(H, F), nn.Dense(F, H), nn.LayerNorm((H,)), nn.GELU()
        self.a.matmul.shard(((2, 1), (4, 1)))

    def construct(self, x):
        return ops.ReduceMean()(ops.square(self.norm(self.b(self.act(self.a(x)))) + x))


net = Net()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)))
print('done')
