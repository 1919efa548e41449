"""A float16 encoder by auto_mixed_precision, DynamicLossScaleManager by Model; AdamWeightDecay with groups; semi-automatic."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_context(runtime_num_threads=1)
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True)
B, H, F, DP, MP = 64, 256, 512, 4, 2


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w1, self.w2 = Parameter(initializer("normal", [H, F]), name="w1"), Parameter(initializer("normal", [F, H]), name="w2")
        self.b1, self.g = Parameter(initializer("zeros", [F]), name="b1"), Parameter(initializer("ones", [H]), name="g")
        self.m1, self.m2 = ops.MatMul().shard(((DP, 1), (1, MP))), ops.MatMul().shard(((DP, MP), (MP, 1)))
        self.bias, self.act = ops.BiasAdd().shard(((DP, MP), (MP,))), ops.GeLU().shard(((DP, MP),))
        self.norm, self.add, self.cast = ops.RmsNorm().shard(((DP, 1), (1,))), ops.Add().shard(((DP, 1), (DP, 1))), ops.Cast()

    def construct(self, x):
        y = self.cast(self.norm(x, self.g)[0], ms.float16)
        y = self.act(self.bias(self.m1(y, self.cast(self.w1, ms.float16)), self.cast(self.b1, ms.float16)))
        return self.add(x, self.cast(self.m2(y, self.cast(self.w2, ms.float16)), ms.float32))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([Layer(), Layer()])
        self.square, self.mean = ops.Square().shard(((DP, 1),)), ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.mean(self.square(x))


def rows():
    for _ in range(2):
        yield (np.ones([B, H]).astype(np.float32),)


net = Net()
decay = [p for p in net.trainable_params() if p.ndim > 1]
rest = [p for p in net.trainable_params() if p.ndim == 1]
opt = nn.AdamWeightDecay([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], 1e-3)
Model(net, optimizer=opt, loss_scale_manager=ms.DynamicLossScaleManager(1024, 2, 100)).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)
print('done')
