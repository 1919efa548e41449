"""GPT, two stages, four parts interleaved (1F1B), lazy_inline, AdamWeightDecay."""
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
B, S, H, N, V, L, DP, MP, STAGES = 16, 32, 128, 4, 512, 4, 2, 2, 2


def dense(i, o, rows):
    """nn.Dense cut by columns or rows of its weight."""
    d = nn.Dense(i, o)
    d.matmul.shard(((DP, MP), (1, MP)) if rows else ((DP, 1), (MP, 1)))
    d.bias_add.shard(((DP, 1), (1,)) if rows else ((DP, MP), (MP,)))
    return d


def norm():
    n = nn.LayerNorm((H,))
    n.layer_norm.shard(((DP, 1), (1,), (1,)))
    return n


class Attention(nn.Cell):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = dense(H, H, False), dense(H, H, False), dense(H, H, False), dense(H, H, True)
        self.turn, self.back = ops.Transpose().shard(((DP, 1, MP, 1),)), ops.Transpose().shard(((DP, MP, 1, 1),))
        self.score = ops.BatchMatMul(transpose_b=True).shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.mix = ops.BatchMatMul().shard(((DP, MP, 1, 1), (DP, MP, 1, 1)))
        self.scale, self.mask = ops.RealDiv().shard(((DP, MP, 1, 1), ())), ops.Add().shard(((DP, MP, 1, 1), (1, 1, 1, 1)))
        self.soft = ops.Softmax().shard(((DP, MP, 1, 1),))
        self.reshape, self.root = ops.Reshape(), Tensor((H // N) ** 0.5, ms.float32)

    def heads(self, x):
        return self.turn(self.reshape(x, (-1, S, N, H // N)), (0, 2, 1, 3))

    def construct(self, x, mask):
        q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
        p = self.soft(self.mask(self.scale(self.score(q, k), self.root), mask))
        return self.out(self.reshape(self.back(self.mix(p, v), (0, 2, 1, 3)), (-1, H)))


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.n1, self.n2, self.attention = norm(), norm(), Attention()
        self.up, self.down = dense(H, 4 * H, False), dense(4 * H, H, True)
        self.gelu = ops.GeLU().shard(((DP, MP),))
        self.add = ops.Add().shard(((DP, 1), (DP, 1)))

    def construct(self, x, mask):
        x = self.add(x, self.attention(self.n1(x), mask))
        return self.add(x, self.down(self.gelu(self.up(self.n2(x)))))


class Words(nn.Cell):
    def __init__(self):
        super().__init__()
        self.words = Parameter(initializer("normal", [V, H], ms.float32), name="words")
        self.places = Parameter(initializer("normal", [S, H], ms.float32), name="places")
        self.look = ops.Gather().shard(((MP, 1), (DP, 1)))
        self.add, self.reshape = ops.Add().shard(((DP, 1, 1), (1, 1))), ops.Reshape()

    def construct(self, ids):
        return self.reshape(self.add(self.look(self.words, ids, 0), self.places), (-1, H))


class Head(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm = norm()
        self.weight = Parameter(initializer("normal", [V, H], ms.float32), name="head")
        self.product = ops.MatMul(transpose_b=True).shard(((DP, 1), (MP, 1)))

    def construct(self, x):
        return self.product(self.norm(x), self.weight)


class Loss(nn.Cell):
    """Cross entropy over words that are cut."""
    def __init__(self):
        super().__init__()
        self.max, self.sub = ops.ReduceMax(keep_dims=True).shard(((DP, MP),)), ops.Sub().shard(((DP, MP), (DP, 1)))
        self.exp, self.sum = ops.Exp().shard(((DP, MP),)), ops.ReduceSum(keep_dims=True).shard(((DP, MP),))
        self.log, self.minus = ops.Log().shard(((DP, 1),)), ops.Sub().shard(((DP, MP), (DP, 1)))
        self.hot, self.mul = ops.OneHot().shard(((DP, MP), (), ())), ops.Mul().shard(((DP, MP), (DP, MP)))
        self.total, self.neg, self.mean = ops.ReduceSum().shard(((DP, MP),)), ops.Neg().shard(((DP,),)), ops.ReduceMean().shard(((DP,),))
        self.on, self.off, self.reshape = Tensor(1.0, ms.float32), Tensor(0.0, ms.float32), ops.Reshape()

    def construct(self, logits, labels):
        y = self.sub(logits, self.max(logits, -1))
        y = self.minus(y, self.log(self.sum(self.exp(y), -1)))
        hot = self.hot(self.reshape(labels, (-1,)), V, self.on, self.off)
        return self.mean(self.neg(self.total(self.mul(y, hot), -1)))


class Gpt(nn.Cell):
    @ms.lazy_inline
    def __init__(self):
        super().__init__()
        self.front, self.blocks, self.head, self.loss = Words(), nn.CellList([Block() for _ in range(L)]), Head(), Loss()
        self.mask = Tensor(np.triu(np.full([S, S], -1e4), 1).reshape(1, 1, S, S), ms.float32)
        self.front.pipeline_stage, self.head.pipeline_stage, self.loss.pipeline_stage = 0, STAGES - 1, STAGES - 1
        for i, block in enumerate(self.blocks):
            block.pipeline_stage = i * STAGES // L
        for i, block in enumerate(self.blocks):
            block.pipeline_stage, block.pipeline_segment = i % 2, i // 2
        self.front.pipeline_segment, self.head.pipeline_segment, self.loss.pipeline_segment = 0, 1, 1

    def construct(self, ids, labels):
        x = self.front(ids)
        for block in self.blocks:
            x = block(x, self.mask)
        return self.loss(self.head(x), labels)


def rows():
    for _ in range(2):
        yield np.ones([B, S]).astype(np.int32), np.ones([B, S]).astype(np.int32)


net = nn.PipelineCell(Gpt(), 4)
opt = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
Model(net, optimizer=opt).train(1, ds.GeneratorDataset(rows, ["ids", "labels"]), dataset_sink_mode=False)
print('done')
