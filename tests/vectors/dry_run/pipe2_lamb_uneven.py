"""Two unequal stages with norms and biases, Lamb, two micro batches."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Tensor, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model
from mindspore.parallel.auto_parallel import AutoParallel
from mindspore.parallel.nn import GradAccumulation, Pipeline

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode='semi_auto_parallel', full_batch=True, pipeline_stages=2)
B, H, DP, MP = 64, 256, 4, 1


class Norm(nn.Cell):
    def __init__(self, h):
        super().__init__()
        self.gamma = Parameter(initializer("ones", [h], ms.float32), name="gamma")
        self.beta = Parameter(initializer("zeros", [h], ms.float32), name="beta")
        self.norm = ops.LayerNorm(begin_norm_axis=1, begin_params_axis=1).shard(((DP, 1), (1,), (1,)))

    def construct(self, x):
        y, _, _ = self.norm(x, self.gamma, self.beta)
        return y


class Linear(nn.Cell):
    """Product with a transposed weight and a bias; cut by columns or by rows of the result."""
    def __init__(self, i, o, column):
        super().__init__()
        self.weight = Parameter(initializer("normal", [o, i], ms.float32), name="weight")
        self.bias = Parameter(initializer("zeros", [o], ms.float32), name="bias")
        self.product = ops.MatMul(transpose_b=True).shard(((DP, 1), (MP, 1)) if column else ((DP, MP), (1, MP)))
        self.plus = ops.Add().shard(((DP, MP), (MP,)) if column else ((DP, 1), (1,)))

    def construct(self, x):
        return self.plus(self.product(x, self.weight), self.bias)


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm, self.a, self.b = Norm(H), Linear(H, 2 * H, True), Linear(2 * H, H, False)
        self.act = ops.ReLU().shard(((DP, MP),))

    def construct(self, x):
        return self.b(self.act(self.a(self.norm(x))))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Layer() for _ in range(5)])
        for i, c in enumerate(self.blocks):
            c.pipeline_stage = int(i > 2)
        self.square = ops.Square().shard(((DP, 1),))
        self.mean = ops.ReduceMean().shard(((DP, 1),))

    def construct(self, x):
        for c in self.blocks:
            x = c(x)
        return self.mean(self.square(x))


def rows():
    for _ in range(2):
        yield np.ones([B, H]).astype(np.float32)


net = nn.PipelineCell(Net(), 2)
opt = nn.Lamb(net.trainable_params(), 1e-3)
data = ds.GeneratorDataset(rows, ["x"])
Model(net, optimizer=opt).train(1, data, dataset_sink_mode=False)
print('done')
