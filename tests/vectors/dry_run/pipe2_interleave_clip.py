"""Interleaved, halves, loss scale, clipped norm."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True, pipeline_stages=2, pipeline_config={'pipeline_interleave': True, 'pipeline_scheduler': '1f1b'})
B, H, F, DP, MP = 64, 256, 512, 2, 2


class Layer(nn.Cell):
    """Norm in float32, products in half precision with biases."""
    def __init__(self, h, f, half=ms.float16):
        super().__init__()
        self.half = half
        self.gamma = Parameter(initializer("ones", [h], ms.float32), name="gamma")
        self.beta = Parameter(initializer("zeros", [h], ms.float32), name="beta")
        self.up = Parameter(initializer("normal", [h, f], ms.float32), name="up")
        self.bias = Parameter(initializer("zeros", [f], ms.float32), name="bias")
        self.down = Parameter(initializer("normal", [f, h], ms.float32), name="down")
        self.norm = ops.LayerNorm(begin_norm_axis=1, begin_params_axis=1, epsilon=1e-5).shard(((DP, 1), (1,), (1,)))
        self.first = ops.MatMul().shard(((DP, 1), (1, MP)))
        self.plus = ops.Add().shard(((DP, MP), (MP,)))
        self.act = ops.GeLU().shard(((DP, MP),))
        self.second = ops.MatMul().shard(((DP, MP), (MP, 1)))
        self.add = ops.Add().shard(((DP, 1), (DP, 1)))
        self.cast = ops.Cast()

    def construct(self, x):
        y, _, _ = self.norm(x, self.gamma, self.beta)
        y = self.first(self.cast(y, self.half), self.cast(self.up, self.half))
        y = self.act(self.plus(y, self.cast(self.bias, self.half)))
        y = self.second(y, self.cast(self.down, self.half))
        return self.add(x, self.cast(y, ms.float32))


class Net(nn.Cell):
    @ms.lazy_inline
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Layer(H, F) for _ in range(4)])
        for i, c in enumerate(self.blocks):
            c.pipeline_stage = i % 2
            c.pipeline_segment = i // 2
        self.square = ops.Square().shard(((DP, 1),))
        self.mean = ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        for c in self.blocks:
            x = c(x)
        return self.mean(self.square(x))


get_scale = ops.MultitypeFuncGraph("get_scale")
clear = ops.MultitypeFuncGraph("clear")


@get_scale.register("Tensor", "Tensor", "Tensor")
def scale_accu(scale, grad, accu):
    return ops.cast(accu, ms.float32) / scale + 0 * grad


@clear.register("Tensor", "Tensor")
def clear_accu(accu, grad):
    return ops.depend(ops.assign(accu, ops.zeros_like(accu)), grad)


class Step(nn.TrainOneStepWithLossScaleCell):
    """Pipelined step: scaled loss, accumulated gradients, clipped by their norm."""
    def __init__(self, network, optimizer):
        super().__init__(network, optimizer, Tensor(1024.0, ms.float32))
        self.accu_grads = self.weights.clone(prefix="accu_grads", init="zeros")
        self.hyper_map = ops.HyperMap()
        self.micro = Tensor(4.0, ms.float32)

    def construct(self, x):
        loss = self.network(x)
        scaling = self.scale_sense
        grads = self.grad(self.network, self.weights)(x, ops.cast(scaling / self.micro, ms.float32))
        accu = ops.depend(self.accu_grads, grads)
        grads = self.hyper_map(ops.partial(get_scale, scaling), grads, accu)
        grads = ops.clip_by_global_norm(grads, 1.0)
        loss = ops.depend(loss, self.optimizer(grads))
        return ops.depend(loss, self.hyper_map(clear, self.accu_grads, grads))


def rows():
    for _ in range(2):
        yield np.ones([B, H]).astype(np.float32)


net = nn.PipelineCell(Net(), 4)
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
Model(Step(net, opt)).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)
print('done')
