"""dynamic_programming, attention and feed-forward with norms."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="auto_parallel", search_mode="dynamic_programming", full_batch=True)
B, S, H, N = 8, 64, 256, 8


class Attention(nn.Cell):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Dense(H, H, has_bias=False) for _ in range(4))
        self.bmm, self.bmm_t = ops.BatchMatMul(), ops.BatchMatMul(transpose_b=True)
        self.softmax = ops.Softmax(-1)

    def heads(self, x):
        return ops.transpose(ops.reshape(x, (B, S, N, H // N)), (0, 2, 1, 3))

    def construct(self, x):
        q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
        scores = self.softmax(self.bmm_t(q, k) * 0.125)
        y = ops.transpose(self.bmm(scores, v), (0, 2, 1, 3))
        return self.o(ops.reshape(y, (B * S, H)))


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm((H,)), nn.LayerNorm((H,))
        self.attention = Attention()
        self.up, self.down, self.act = nn.Dense(H, 4 * H), nn.Dense(4 * H, H), nn.GELU()

    def construct(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(self.act(self.up(self.norm2(x))))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Layer() for _ in range(2)])

    def construct(self, x):
        for block in self.blocks:
            x = block(x)
        return ops.ReduceMean()(x)


net = Net()
step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
step.set_train()
step(Tensor(np.ones([B * S, H]).astype(np.float32)))
print("done")
