"""Two stages, sharded optimizer, gradients clipped by their norm."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True, pipeline_stages=2, enable_parallel_optimizer=True, parallel_optimizer_config={'parallel_optimizer_threshold': 0})
B, H, F, DP, MP = 64, 256, 1024, 2, 2


class Ffn(nn.Cell):
    """Two products with GeLU between them; the input is added."""
    def __init__(self, h, f):
        super().__init__()
        self.up = Parameter(initializer("normal", [h, f], ms.float32), name="up")
        self.down = Parameter(initializer("normal", [f, h], ms.float32), name="down")
        self.first = ops.MatMul().shard(((DP, 1), (1, MP)))
        self.act = ops.GeLU().shard(((DP, MP),))
        self.second = ops.MatMul().shard(((DP, MP), (MP, 1)))
        self.add = ops.Add().shard(((DP, 1), (DP, 1)))

    def construct(self, x):
        return self.add(x, self.second(self.act(self.first(x, self.up)), self.down))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Ffn(H, F) for _ in range(4)])
        for i, c in enumerate(self.blocks):
            c.pipeline_stage = i * 2 // 4
        self.square = ops.Square().shard(((DP, 1),))
        self.mean = ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        for c in self.blocks:
            x = c(x)
        return self.mean(self.square(x))


scale = ops.MultitypeFuncGraph("scale")
clear = ops.MultitypeFuncGraph("clear")


@scale.register("Tensor", "Tensor")
def scale_one(factor, grad):
    return ops.Mul()(grad, factor)


@clear.register("Tensor", "Tensor")
def clear_one(accu, grad):
    return ops.assign(accu, ops.zeros_like(accu))


class Step(nn.TrainOneStepCell):
    """One step from accumulated gradients, clipped by their norm."""
    def __init__(self, network, optimizer):
        super().__init__(network, optimizer)
        self.accu_grads = self.weights.clone(prefix="accu_grads", init="zeros")
        self.sharded = True
        self.hyper_map = ops.HyperMap()

    def construct(self, *inputs):
        loss = self.network(*inputs)
        grads = self.grad(self.network, self.weights)(*inputs, ops.fill(ms.float32, (), 1.0))
        accu_grads = ops.depend(self.accu_grads, grads)
        if self.sharded:
            result = self.hyper_map(ops.partial(scale, Tensor(1.0 / 2, ms.float32)), grads)
        else:
            result = self.hyper_map(ops.partial(scale, Tensor(1.0 / 2, ms.float32)), accu_grads)
        result = ops.clip_by_global_norm(result, 1.0)
        loss = ops.depend(loss, self.optimizer(result))
        return ops.depend(loss, self.hyper_map(clear, accu_grads, grads))


def rows():
    for _ in range(2):
        yield np.ones([B, H]).astype(np.float32)


net = nn.PipelineCell(Net(), 2)
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
Model(Step(net, opt)).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)
print('done')
