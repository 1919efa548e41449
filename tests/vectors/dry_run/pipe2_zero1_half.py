"""Two stages, sharded optimizer, products in half precision: weights are cast, then gathered."""
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
        self.cast = ops.Cast()

    def construct(self, x):
        up, down = self.cast(self.up, ms.float16), self.cast(self.down, ms.float16)
        y = self.second(self.act(self.first(self.cast(x, ms.float16), up)), down)
        return self.add(x, self.cast(y, ms.float32))


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


def rows():
    for _ in range(2):
        yield np.ones([B, H]).astype(np.float32)


net = nn.PipelineCell(Net(), 4)
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
Model(net, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)
print('done')
