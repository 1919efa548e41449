"""Two stages, attention, threshold, AdamWeightDecay."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True, pipeline_stages=2, enable_parallel_optimizer=True, parallel_optimizer_config={'parallel_optimizer_threshold': 64})
B, S, H, NH, F, DP, MP = 256, 16, 256, 4, 512, 2, 2


class Attention(nn.Cell):
    """Attention over heads; scores in float32."""
    def __init__(self, h):
        super().__init__()
        self.h, self.size = h, h // NH
        for name in ("wq", "wk", "wv", "wo"):
            setattr(self, name, Parameter(initializer("normal", [h, h], ms.float32), name=name))
        self.gamma = Parameter(initializer("ones", [h], ms.float32), name="gamma")
        self.norm = ops.RmsNorm(1e-6).shard(((DP, 1), (1,)))
        self.column = ops.MatMul(transpose_b=True).shard(((DP, 1), (MP, 1)))
        self.row = ops.MatMul(transpose_b=True).shard(((DP, MP), (1, MP)))
        self.reshape = ops.Reshape()
        self.turn = ops.Transpose().shard(((DP, 1, MP, 1),))
        self.back = ops.Transpose().shard(((DP, MP, 1, 1),))
        self.score = ops.BatchMatMul(transpose_b=True).shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.soft = ops.Softmax().shard(((DP, MP, 1, 1),))
        self.mix = ops.BatchMatMul().shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.add = ops.Add().shard(((DP, 1), (DP, 1)))
        self.drop = None

    def heads(self, x):
        return self.turn(self.reshape(x, (-1, S, NH, self.size)), (0, 2, 1, 3))

    def construct(self, x):
        y = self.norm(x, self.gamma)[0]
        q, k, v = self.heads(self.column(y, self.wq)), self.heads(self.column(y, self.wk)), self.heads(self.column(y, self.wv))
        a = self.mix(self.soft(self.score(q, k)), v)
        a = self.reshape(self.back(a, (0, 2, 1, 3)), (-1, self.h))
        return self.add(x, self.row(a, self.wo))


class Ffn(nn.Cell):
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
        self.blocks = nn.CellList([Attention(H), Ffn(H, F), Attention(H), Ffn(H, F)])
        for i, c in enumerate(self.blocks):
            c.pipeline_stage = i // 2
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
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
Model(net, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["x"]), dataset_sink_mode=False)
print('done')
