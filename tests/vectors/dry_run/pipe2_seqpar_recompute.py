"""Sequence parallel by layouts, two stages, recomputed without sums."""
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
B, H, F, DP, MP = 128, 256, 512, 2, 2


class Layer(nn.Cell):
    """Rows cut over all ranks of a stage between the products."""
    def __init__(self, h, f):
        super().__init__()
        self.up = Parameter(initializer("normal", [h, f], ms.float32), name="up")
        self.down = Parameter(initializer("normal", [f, h], ms.float32), name="down")
        self.gamma = Parameter(initializer("ones", [h], ms.float32), name="gamma")
        self.norm = ops.RmsNorm().shard(((DP * MP, 1), (1,)))
        self.first = ops.MatMul().shard(((DP, 1), (1, MP)))
        self.act = ops.auto_generate.SiLU().shard(((DP, MP),))
        self.second = ops.MatMul().shard(((DP, MP), (MP, 1)), ((DP * MP, 1),))
        self.add = ops.Add().shard(((DP * MP, 1), (DP * MP, 1)))

    def construct(self, x):
        y, _ = self.norm(x, self.gamma)
        return self.add(x, self.second(self.act(self.first(y, self.up)), self.down))


class Net(nn.Cell):
    @ms.lazy_inline
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Layer(H, F) for _ in range(4)])
        for i, c in enumerate(self.blocks):
            c.pipeline_stage = i * 2 // 4
            c.recompute(mp_comm_recompute=False)
        self.square = ops.Square().shard(((DP * MP, 1),))
        self.mean = ops.ReduceMean().shard(((DP * MP, 1),))

    def construct(self, x):
        for c in self.blocks:
            x = c(x)
        return self.mean(self.square(x))


def rows():
    for _ in range(2):
        yield np.ones([B, H]).astype(np.float32)


net = nn.PipelineCell(Net(), 4)
opt = nn.Adam(net.trainable_params(), 1e-3)
Model(net, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)
print('done')
