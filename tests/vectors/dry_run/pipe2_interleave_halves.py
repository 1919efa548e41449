"""Two interleaved stages whose layers compute on two halves of the rows (interleaved layouts)."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.parallel.shard import Layout
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True, pipeline_stages=2, pipeline_config={'pipeline_interleave': True, 'pipeline_scheduler': '1f1b'})
B, H, F = 32, 256, 512
layout = Layout((2, 2, 2), ("dp", "mp", "interleaved_parallel"))
rows_cut = (("dp", "interleaved_parallel"), "None")


class Ffn(nn.Cell):
    """Two products with GeLU between them, each on two halves of the rows; the input is added."""
    def __init__(self, h, f):
        super().__init__()
        self.up = Parameter(initializer("normal", [h, f], ms.float32), name="up")
        self.down = Parameter(initializer("normal", [f, h], ms.float32), name="down")
        self.first = ops.MatMul().shard((layout(*rows_cut), layout("None", "mp")))
        self.act = ops.GeLU().shard((layout(("dp", "interleaved_parallel"), "mp"),))
        self.second = ops.MatMul().shard((layout(("dp", "interleaved_parallel"), "mp"), layout("mp", "None")))
        self.add = ops.Add().shard((layout(*rows_cut), layout(*rows_cut)))

    def construct(self, x):
        return self.add(x, self.second(self.act(self.first(x, self.up)), self.down))


class Net(nn.Cell):
    @ms.lazy_inline
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Ffn(H, F) for _ in range(4)])
        for i, c in enumerate(self.blocks):
            c.pipeline_stage = i % 2
            c.pipeline_segment = i // 2
        self.square = ops.Square().shard(((2, 1),))
        self.mean = ops.ReduceMean().shard(((2, 1),))

    def construct(self, x):
        for c in self.blocks:
            x = c(x)
        return self.mean(self.square(x))


def rows():
    for _ in range(2):
        yield np.ones([B, H]).astype(np.float32)


net = nn.PipelineCell(Net(), 4)
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
data = ds.GeneratorDataset(rows, ["x"])
Model(net, optimizer=opt).train(1, data, dataset_sink_mode=False)
print('done')
