"""Transformer block whose products, norm, softmax, adds and dropout all have strategies by hand, sequence cut; tensor parallel 4."""
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="data_parallel", gradients_mean=True)
B, S, H, N = 4, 32, 256, 8


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm((H,))
        self.norm.layer_norm.shard(((2, 4, 1), (1,), (1,)))
        self.q, self.k, self.v = (nn.Dense(H, H, has_bias=False) for _ in range(3))
        for d in (self.q, self.k, self.v):
            d.matmul.shard(((2, 1), (4, 1)))
        self.o = nn.Dense(H, H)
        self.o.matmul.shard(((2, 4), (1, 4)))
        self.o.bias_add.shard(((2, 1), (1,)))
        self.bmm1 = ops.BatchMatMul(transpose_b=True).shard(((2, 4, 1, 1), (2, 4, 1, 1)))
        self.bmm2 = ops.BatchMatMul().shard(((2, 4, 1, 1), (2, 4, 1, 1)))
        self.soft = ops.Softmax().shard(((2, 4, 1, 1),))
        self.drop = nn.Dropout(p=0.1)
        self.drop.dropout.shard(((2, 4, 1, 1),))
        self.add = ops.Add().shard(((2, 4, 1), (2, 4, 1)))
        self.t = ops.Transpose().shard(((2, 1, 4, 1),))

    def heads(self, x):
        return self.t(x.reshape(-1, S, N, H // N), (0, 2, 1, 3))

    def construct(self, x):
        y = self.norm(x)
        q, k, v = self.heads(self.q(y)), self.heads(self.k(y)), self.heads(self.v(y))
        p = self.drop(self.soft(self.bmm1(q, k)))
        z = self.bmm2(p, v).transpose(0, 2, 1, 3).reshape(-1, S, H)
        return self.add(x, self.o(z))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.SequentialCell(*[Block() for _ in range(2)])

    def construct(self, x):
        return ops.reduce_mean(self.blocks(x))


net = Net()
step = nn.TrainOneStepCell(net, nn.AdamWeightDecay(net.trainable_params(), 1e-3))
step.set_train()
step(Tensor(np.ones([B, S, H]), ms.float32))
print('done')
