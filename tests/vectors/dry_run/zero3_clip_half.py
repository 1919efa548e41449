"""Level 3: float32 weights cast to half precision, gradients clipped by their norm."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode='semi_auto_parallel', full_batch=True, enable_parallel_optimizer=True, parallel_optimizer_config={'parallel_optimizer_threshold': 0, 'optimizer_level': 'level3'})
B, H, F, DP, MP = 64, 128, 512, 4, 2


class Ffn(nn.Cell):
    def __init__(self):
        super().__init__()
        self.up = Parameter(initializer("normal", [H, F], ms.float32), name="up")
        self.down = Parameter(initializer("normal", [F, H], ms.float32), name="down")
        self.first = ops.MatMul().shard(((DP, 1), (1, MP)))
        self.act = ops.ReLU().shard(((DP, MP),))
        self.second = ops.MatMul().shard(((DP, MP), (MP, 1)))
        self.cast = ops.Cast()
        self.add = ops.Add().shard(((DP, 1), (DP, 1)))

    def construct(self, x):
        y = self.act(self.first(x, self.cast(self.up, ms.float16)))
        return self.add(x, self.second(y, self.cast(self.down, ms.float16)))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Ffn() for _ in range(3)])
        self.square, self.mean, self.cast = ops.Square().shard(((DP, 1),)), ops.ReduceMean().shard(((DP, 1),)), ops.Cast()

    def construct(self, x):
        x = self.cast(x, ms.float16)
        for c in self.blocks:
            x = c(x)
        return self.mean(self.square(self.cast(x, ms.float32)))


class Step(nn.TrainOneStepCell):
    def construct(self, *inputs):
        loss = self.network(*inputs)
        grads = self.grad(self.network, self.weights)(*inputs, ops.fill(ms.float32, (), 1.0))
        grads = ops.clip_by_global_norm(self.grad_reducer(grads), 0.5)
        return ops.depend(loss, self.optimizer(grads))


net = Net()
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
step = Step(net, opt)
step.set_train()
step(Tensor(np.ones([B, H]).astype(np.float32)))
print('done')
