"""Two stages, shared graph; no weight of the first stage is trained, so nobody wants a gradient."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True, pipeline_stages=2)
B, H, F, DP, MP = 64, 128, 256, 2, 2


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
    @ms.lazy_inline
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


inner = Net()
for c in inner.blocks[0:2]:
    for p in c.get_parameters():
        p.requires_grad = False
net = nn.PipelineCell(inner, 4)
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
data = ds.GeneratorDataset(rows, ["x"])
Model(net, optimizer=opt).train(1, data, dataset_sink_mode=False)
print('done')
