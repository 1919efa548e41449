"""Frozen products with low-rank additions that train; Adam; semi-automatic, float16."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
B, H, F, R, DP, MP = 64, 256, 1024, 8, 2, 4


class Lora(nn.Cell):
    def __init__(self, i, o, rows):
        super().__init__()
        self.w = Parameter(initializer("normal", [o, i], ms.float16), name="w", requires_grad=False)
        self.a, self.b = Parameter(initializer("normal", [R, i], ms.float32), name="lora_a"), Parameter(initializer("zeros", [o, R], ms.float32), name="lora_b")
        self.mm = ops.MatMul(transpose_b=True).shard(((DP, MP), (1, MP)) if rows else ((DP, 1), (MP, 1)))
        self.ma = ops.MatMul(transpose_b=True).shard(((DP, MP), (1, MP)) if rows else ((DP, 1), (1, 1)))
        self.mb = ops.MatMul(transpose_b=True).shard(((DP, 1), (1, 1)) if rows else ((DP, 1), (MP, 1)))
        cut = (DP, 1) if rows else (DP, MP)
        self.mul, self.add, self.cast = ops.Mul().shard((cut, ())), ops.Add().shard((cut, cut)), ops.Cast()

    def construct(self, x):
        y = self.mb(self.ma(x, self.cast(self.a, ms.float16)), self.cast(self.b, ms.float16))
        return self.add(self.mm(x, self.w), self.mul(y, Tensor(2.0, ms.float16)))


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.up, self.down, self.gelu = Lora(H, F, False), Lora(F, H, True), ops.GeLU().shard(((DP, MP),))
        self.add = ops.Add().shard(((DP, 1), (DP, 1)))

    def construct(self, x):
        return self.add(x, self.down(self.gelu(self.up(x))))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([Layer() for _ in range(3)])
        self.square, self.mean, self.cast = ops.Square().shard(((DP, 1),)), ops.ReduceMean().shard(((DP, 1),)), ops.Cast()

    def construct(self, x):
        x = self.cast(x, ms.float16)
        for layer in self.layers:
            x = layer(x)
        return self.mean(self.square(self.cast(x, ms.float32)))


def rows():
    for _ in range(2):
        yield (np.ones([B, H]).astype(np.float32),)


net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3)
Model(net, optimizer=opt, loss_scale_manager=ms.FixedLossScaleManager(1024.0, False)).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)
print('done')
