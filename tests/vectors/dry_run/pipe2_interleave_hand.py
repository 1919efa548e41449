"""Two stages, interleaved; the loss, outside of all cells with a stage, has gradients written by hand."""
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops, Parameter
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.train import Model

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True, pipeline_stages=2, pipeline_config={'pipeline_interleave': True, 'pipeline_scheduler': '1f1b'})
B, H, F, DP, MP = 32, 256, 512, 2, 2


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


class LogSoftmax(nn.Cell):
    """Logarithms of the softmax by elementary operators, with a gradient of its own."""
    def __init__(self):
        super().__init__()
        self.max = ops.ReduceMax(keep_dims=True).shard(((DP, 1),))
        self.sub = ops.Sub().shard(((DP, 1), (DP, 1)))
        self.exp = ops.Exp().shard(((DP, 1),))
        self.sum = ops.ReduceSum(keep_dims=True).shard(((DP, 1),))
        self.log = ops.Log().shard(((DP, 1),))
        self.minus = ops.Sub().shard(((DP, 1), (DP, 1)))
        self.exp_back = ops.Exp().shard(((DP, 1),))
        self.sum_back = ops.ReduceSum(keep_dims=True).shard(((DP, 1),))
        self.mul_back = ops.Mul().shard(((DP, 1), (DP, 1)))
        self.sub_back = ops.Sub().shard(((DP, 1), (DP, 1)))

    def construct(self, x):
        shifted = self.sub(x, self.max(x, -1))
        return self.minus(shifted, self.log(self.sum(self.exp(shifted), -1)))

    def bprop(self, x, out, dout):
        return (self.sub_back(dout, self.mul_back(self.exp_back(out), self.sum_back(dout, -1))),)


class Picked(nn.Cell):
    """Minus the logarithm of each label's probability; gradient by hand."""
    def __init__(self):
        super().__init__()
        self.mul = ops.Mul().shard(((DP, 1), (DP, 1)))
        self.total = ops.ReduceSum().shard(((DP, 1),))
        self.neg = ops.Neg().shard(((DP,),))
        self.neg_back = ops.Neg().shard(((DP,),))
        self.mul_back = ops.Mul().shard(((DP, 1), (DP, 1)))

    def construct(self, logs, hot):
        return self.neg(self.total(self.mul(logs, hot), -1))

    def bprop(self, logs, hot, out, dout):
        return self.mul_back(hot, ops.reshape(self.neg_back(dout), (-1, 1))), ops.zeros_like(hot)


class Loss(nn.Cell):
    """Cross entropy of labels, by hand."""
    def __init__(self):
        super().__init__()
        self.logs = LogSoftmax()
        self.onehot = ops.OneHot().shard(((DP, 1), (), ()))
        self.on = ms.Tensor(1.0, ms.float32)
        self.off = ms.Tensor(0.0, ms.float32)
        self.picked = Picked()
        self.mean = ops.ReduceMean().shard(((DP,),))

    def construct(self, x, label):
        return self.mean(self.picked(self.logs(x), self.onehot(label, H, self.on, self.off)))


class Net(nn.Cell):
    @ms.lazy_inline
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Ffn(H, F) for _ in range(4)])
        for i, c in enumerate(self.blocks):
            c.pipeline_stage = i % 2
            c.pipeline_segment = i // 2
        self.loss = Loss()

    def construct(self, x, label):
        for c in self.blocks:
            x = c(x)
        return self.loss(x, label)


def rows():
    for _ in range(2):
        yield np.ones([B, H]).astype(np.float32), np.ones([B]).astype(np.int32)


net = nn.PipelineCell(Net(), 4)
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
data = ds.GeneratorDataset(rows, ["x", "label"])
Model(net, optimizer=opt).train(1, data, dataset_sink_mode=False)
print('done')
