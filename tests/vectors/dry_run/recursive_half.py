"""Wide residual MLP with mixed precision of products; auto, recursive programming."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="auto_parallel", search_mode="recursive_programming")
B, H = 64, 512


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a = Parameter(initializer("normal", [H, 4 * H], ms.float16))
        self.b = Parameter(initializer("normal", [4 * H, H], ms.float16))
        self.norm = nn.LayerNorm((H,))
        self.m1, self.m2 = ops.MatMul(), ops.MatMul()

    def construct(self, x):
        y = ops.cast(self.norm(x), ms.float16)
        y = self.m2(ops.relu(self.m1(y, self.a)), self.b)
        return x + ops.cast(y, ms.float32)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.SequentialCell(*[Block() for _ in range(3)])
        self.head = nn.Dense(H, 64)

    def construct(self, x, y):
        return ops.reduce_mean(nn.SoftmaxCrossEntropyWithLogits()(self.head(self.blocks(x)), y))


net = Net()
step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
step.set_train()
step(Tensor(np.ones([B, H]), ms.float32), Tensor(np.ones([B, 64]), ms.float32))
print('done')
