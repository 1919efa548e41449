"""Two products read the same Cast and Reshape of a value that is cut otherwise: it is gathered once, and its gradient scattered once."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
B, H, F = 64, 512, 1024


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w0, self.w1, self.w2, self.w3, self.w4, self.w5 = (
            Parameter(initializer("normal", shape, ms.float16), name="w%d" % i)
            for i, shape in enumerate(([H, H], [H, F], [F, H], [H, F], [H, F], [H, F])))
        self.begin = ops.MatMul().shard(((8, 1), (1, 1)))
        self.square, self.exp = ops.Square().shard(((8, 1),)), ops.Exp().shard(((1, 8, 1),))
        self.up = [ops.MatMul().shard(((2, 1), (1, 4))) for _ in range(4)]
        self.mul, self.add = ops.Mul().shard(((2, 4), (2, 4))), ops.Add().shard(((2, 4), (2, 4)))
        self.down = ops.MatMul().shard(((2, 4), (4, 1)))
        self.mean = ops.ReduceMean().shard(((2, 1),))

    def own(self, x):
        return ops.reshape(ops.cast(x, ms.float16), (B, H))

    def construct(self, x):
        x = self.begin(x, self.w0)
        y = self.square(x)
        z = self.exp(ops.reshape(ops.cast(x, ms.float32), (1, B, H)))
        a = self.mul(self.up[0](y, self.w1), self.up[1](y, self.w3))
        b = self.mul(self.up[2](self.own(z), self.w4), self.up[3](self.own(z), self.w5))
        return self.mean(self.down(self.add(a, b), self.w2))


net = Net()
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
step = nn.TrainOneStepCell(net, opt)
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float16)))
print('done')
