"""Greedy generation: decoder with cached keys grown by concat, argmax, no training, cut heads."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="data_parallel", gradients_mean=True)
B, S, H, N, V = 2, 16, 128, 8, 1000


class Block(nn.Cell):
    def __init__(self, i):
        super().__init__()
        self.qkv = Parameter(initializer("normal", [H, 3 * H], ms.float32), name="qkv%d" % i)
        self.out = Parameter(initializer("normal", [H, H], ms.float32), name="out%d" % i)
        self.mm1, self.mm2 = ops.MatMul().shard(((1, 1), (1, 8))), ops.MatMul().shard(((1, 8), (8, 1)))
        self.norm = nn.LayerNorm((H,))

    def construct(self, x, mask):
        b, s, _ = x.shape
        y = self.mm1(self.norm(x).reshape(-1, H), self.qkv).reshape(b, s, N, 3, H // N)
        q, k, v = y[:, :, :, 0], y[:, :, :, 1], y[:, :, :, 2]
        q, k, v = q.transpose(0, 2, 1, 3), k.transpose(0, 2, 3, 1), v.transpose(0, 2, 1, 3)
        p = ops.softmax(ops.matmul(q, k) * 0.25 + mask, -1)
        z = ops.matmul(p, v).transpose(0, 2, 1, 3).reshape(-1, H)
        return x + self.mm2(z, self.out).reshape(b, s, H)


class Lm(nn.Cell):
    def __init__(self):
        super().__init__()
        self.table = Parameter(initializer("normal", [V, H], ms.float32), name="table")
        self.blocks = nn.CellList([Block(i) for i in range(2)])
        self.gather = ops.Gather()
        self.mask = Tensor((1 - np.tril(np.ones([S, S]))) * -1e4, ms.float32)
        self.mm = ops.MatMul(transpose_b=True)

    def construct(self, ids):
        x = self.gather(self.table, ids, 0)
        for b in self.blocks:
            x = b(x, self.mask)
        y = self.mm(x[:, -1], self.table)
        return ops.argmax(y, -1)


net = Lm()
net.set_train(False)
ids = np.zeros([B, S], np.int32)
for t in range(3):
    new = net(Tensor(ids))
    ids[:, t] = new.asnumpy()
print('done')
