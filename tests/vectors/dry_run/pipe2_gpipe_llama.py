"""gpipe with llama layers."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True, pipeline_stages=2, pipeline_config={'pipeline_interleave': True, 'pipeline_scheduler': 'gpipe'})
B, S, H, NH, F, DP, MP = 256, 32, 128, 4, 256, 2, 2


class Layer(nn.Cell):
    """RmsNorm, attention, gated feed-forward; float16 products."""
    def __init__(self, h, f):
        super().__init__()
        self.h = h
        self.g1 = Parameter(initializer("ones", [h], ms.float32), name="g1")
        self.g2 = Parameter(initializer("ones", [h], ms.float32), name="g2")
        for name, shape in (("wq", [h, h]), ("wk", [h, h]), ("wv", [h, h]), ("wo", [h, h]), ("w1", [f, h]), ("w3", [f, h]), ("w2", [h, f])):
            setattr(self, name, Parameter(initializer("normal", shape, ms.float32), name=name))
        self.norm1, self.norm2 = ops.RmsNorm(1e-6).shard(((DP, 1), (1,))), ops.RmsNorm(1e-6).shard(((DP, 1), (1,)))
        self.column = ops.MatMul(transpose_b=True).shard(((DP, 1), (MP, 1)))
        self.row = ops.MatMul(transpose_b=True).shard(((DP, MP), (1, MP)))
        self.reshape, self.cast = ops.Reshape(), ops.Cast()
        self.turn = ops.Transpose().shard(((DP, 1, MP, 1),))
        self.back = ops.Transpose().shard(((DP, MP, 1, 1),))
        self.score = ops.BatchMatMul(transpose_b=True).shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.scale = ops.Mul().shard(((DP, MP, 1, 1), ()))
        self.soft = ops.Softmax().shard(((DP, MP, 1, 1),))
        self.mix = ops.BatchMatMul().shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.silu = ops.auto_generate.SiLU().shard(((DP, MP),))
        self.gate = ops.Mul().shard(((DP, MP), (DP, MP)))
        self.add = ops.Add().shard(((DP, 1), (DP, 1)))

    def heads(self, x):
        return self.turn(self.reshape(x, (-1, S, NH, self.h // NH)), (0, 2, 1, 3))

    def construct(self, x):
        y = self.cast(self.norm1(x, self.g1)[0], ms.float32)
        q, k, v = self.heads(self.column(y, self.wq)), self.heads(self.column(y, self.wk)), self.heads(self.column(y, self.wv))
        p = self.soft(self.scale(self.score(q, k), (self.h // NH) ** -0.5))
        a = self.reshape(self.back(self.mix(p, v), (0, 2, 1, 3)), (-1, self.h))
        x = self.add(x, self.cast(self.row(a, self.wo), ms.float32))
        y = self.cast(self.norm2(x, self.g2)[0], ms.float32)
        z = self.row(self.gate(self.silu(self.column(y, self.w1)), self.column(y, self.w3)), self.w2)
        return self.add(x, self.cast(z, ms.float32))


class Net(nn.Cell):
    @ms.lazy_inline
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Layer(H, F) for _ in range(2)])
        for i, c in enumerate(self.blocks):
            c.pipeline_stage = i * 2 // 2
        self.square = ops.Square().shard(((DP, 1),))
        self.mean = ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        for c in self.blocks:
            x = c(x)
        return self.mean(self.square(x))


def rows():
    for _ in range(2):
        yield np.ones([B, H]).astype(np.float32),


net = nn.PipelineCell(Net(), 2)
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
Model(net, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)
print('done')
