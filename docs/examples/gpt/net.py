"""GPT with 96 layers and 175 billion parameters, cut over the ranks of a job: a check before the cluster is booked.

    msrun --sim_level=1 --worker_num=1024 net.py
    msrun --sim_level=1 --worker_num=1024 net.py --model_parallel=8 --stages=16 --micro_batches=64 \\
          --recompute --shard_optimizer
    msrun --sim_level=0 --worker_num=8 net.py --layers=2 --hidden=1024 --heads=16 --model_parallel=4

The batch is cut by data parallelism, every layer by model parallelism: the heads of the attention, the inner width of
the feed-forward block and the vocabulary. On request the layers are spread over pipeline stages, which take one micro
batch after the other, layers are computed again in the backward pass, and weights and moments are held in parts. No
weight is ever allocated.
"""
import argparse

import mindspore as ms
import mindspore.dataset as ds
from mindspore import Parameter, nn, ops
from mindspore.common.initializer import initializer
from mindspore.communication import get_group_size, init


def parse_arguments():
    parser = argparse.ArgumentParser(description="A GPT of any size.")
    parser.add_argument("--layers", type=int, default=96)
    parser.add_argument("--hidden", type=int, default=12288)
    parser.add_argument("--heads", type=int, default=96)
    parser.add_argument("--vocabulary", type=int, default=50304)
    parser.add_argument("--sequence", type=int, default=2048)
    parser.add_argument("--batch_per_replica", type=int, default=1)
    parser.add_argument("--model_parallel", type=int, default=32)
    parser.add_argument("--stages", type=int, default=1, help="pipeline stages, each with an equal share of the layers")
    parser.add_argument("--micro_batches", type=int, default=1, help="of a step, each of batch_per_replica samples")
    parser.add_argument("--recompute", action="store_true", help="compute layers again in the backward pass")
    parser.add_argument("--shard_optimizer", action="store_true", help="cut weights and moments over the replicas")
    return parser.parse_args()


def weight(shape, init="normal"):
    return Parameter(initializer(init, shape, ms.float16))


class Linear(nn.Cell):
    """y = x W + b over the last dimension; `cut_out` and `cut_in` say how often the two widths are cut."""

    def __init__(self, width_in, width_out, dp, cut_in=1, cut_out=1):
        super().__init__()
        self.weight = weight([width_in, width_out])
        self.bias = weight([width_out], "zeros")
        self.matmul = ops.MatMul().shard(((dp, cut_in), (cut_in, cut_out)))
        self.add = ops.Add().shard(((dp, cut_out), (cut_out,)))

    def construct(self, x):
        return self.add(self.matmul(x, self.weight), self.bias)


class LayerNorm(nn.Cell):
    """Normalises the last dimension, which is never cut."""

    def __init__(self, hidden, dp):
        super().__init__()
        self.gamma = weight([hidden], "ones")
        self.beta = weight([hidden], "zeros")
        self.norm = ops.LayerNorm(begin_norm_axis=-1, begin_params_axis=-1).shard(((dp, 1), (1,), (1,)))

    def construct(self, x):
        return self.norm(x, self.gamma, self.beta)[0]


class Attention(nn.Cell):
    """Causal self-attention; the heads are cut."""

    def __init__(self, args, dp, mp):
        super().__init__()
        self.sequence = args.sequence
        self.heads = args.heads
        self.head_width = args.hidden // args.heads
        self.query = Linear(args.hidden, args.hidden, dp, cut_out=mp)
        self.key = Linear(args.hidden, args.hidden, dp, cut_out=mp)
        self.value = Linear(args.hidden, args.hidden, dp, cut_out=mp)
        self.out = Linear(args.hidden, args.hidden, dp, cut_in=mp)
        self.reshape = ops.Reshape()
        self.to_heads = ops.Transpose().shard(((dp, 1, mp, 1),))
        self.from_heads = ops.Transpose().shard(((dp, mp, 1, 1),))
        self.scores = ops.BatchMatMul(transpose_b=True).shard(((dp, mp, 1, 1), (dp, mp, 1, 1)))
        self.scale = ops.Mul().shard(((dp, mp, 1, 1), ()))
        self.mask = ops.Add().shard(((dp, mp, 1, 1), (1, 1, 1, 1)))
        self.softmax = ops.Softmax(axis=-1).shard(((dp, mp, 1, 1),))
        self.mix = ops.BatchMatMul().shard(((dp, mp, 1, 1), (dp, mp, 1, 1)))
        self.factor = ms.Tensor(self.head_width ** -0.5, ms.float16)

    def split_heads(self, x):
        x = self.reshape(x, (-1, self.sequence, self.heads, self.head_width))
        return self.to_heads(x, (0, 2, 1, 3))

    def construct(self, x, mask):
        scores = self.scores(self.split_heads(self.query(x)), self.split_heads(self.key(x)))
        scores = self.mask(self.scale(scores, self.factor), mask)
        mixed = self.mix(self.softmax(scores), self.split_heads(self.value(x)))
        mixed = self.reshape(self.from_heads(mixed, (0, 2, 1, 3)), (-1, self.heads * self.head_width))
        return self.out(mixed)


class Block(nn.Cell):
    """One layer: attention and feed-forward, each behind a normalisation and around a shortcut."""

    def __init__(self, args, dp, mp):
        super().__init__()
        self.norm1 = LayerNorm(args.hidden, dp)
        self.attention = Attention(args, dp, mp)
        self.norm2 = LayerNorm(args.hidden, dp)
        self.up = Linear(args.hidden, 4 * args.hidden, dp, cut_out=mp)
        self.gelu = ops.GeLU().shard(((dp, mp),))
        self.down = Linear(4 * args.hidden, args.hidden, dp, cut_in=mp)
        self.add = ops.Add().shard(((dp, 1), (dp, 1)))

    def construct(self, x, mask):
        x = self.add(x, self.attention(self.norm1(x), mask))
        return self.add(x, self.down(self.gelu(self.up(self.norm2(x)))))


class Loss(nn.Cell):
    """Mean cross entropy over a vocabulary that is cut."""

    def __init__(self, vocabulary, dp, mp):
        super().__init__()
        self.cast = ops.Cast()
        self.max = ops.ReduceMax(keep_dims=True).shard(((dp, mp),))
        self.sub = ops.Sub().shard(((dp, mp), (dp, 1)))
        self.exp = ops.Exp().shard(((dp, mp),))
        self.sum = ops.ReduceSum(keep_dims=True).shard(((dp, mp),))
        self.log = ops.Log().shard(((dp, 1),))
        self.log_softmax = ops.Sub().shard(((dp, mp), (dp, 1)))
        self.one_hot = ops.OneHot().shard(((dp, mp), (), ()))
        self.mul = ops.Mul().shard(((dp, mp), (dp, mp)))
        self.pick = ops.ReduceSum().shard(((dp, mp),))
        self.mean = ops.ReduceMean().shard(((dp,),))
        self.neg = ops.Neg().shard(((),))
        self.vocabulary = vocabulary
        self.on = ms.Tensor(1.0, ms.float32)
        self.off = ms.Tensor(0.0, ms.float32)

    def construct(self, logits, labels):
        logits = self.cast(logits, ms.float32)
        shifted = self.sub(logits, self.max(logits, -1))
        log_softmax = self.log_softmax(shifted, self.log(self.sum(self.exp(shifted), -1)))
        chosen = self.mul(log_softmax, self.one_hot(labels, self.vocabulary, self.on, self.off))
        return self.neg(self.mean(self.pick(chosen, -1)))


class LookUp(nn.Cell):
    """Rows of the token table, with what their positions add. A cell, so that it can have a stage: tables in front of all stages are in all of them."""

    def __init__(self, dp):
        super().__init__()
        self.look_up = ops.Gather().shard(((1, 1), (dp, 1)))
        self.add = ops.Add().shard(((dp, 1, 1), (1, 1)))

    def construct(self, tokens, table, positions):
        return self.add(self.look_up(table, tokens, 0), positions)


class Gpt(nn.Cell):
    """Token and position embedding, the layers, and the loss against the next token."""

    def __init__(self, args, dp, mp):
        super().__init__()
        self.hidden = args.hidden
        self.table = weight([args.vocabulary, args.hidden])
        self.positions = weight([args.sequence, args.hidden])
        self.embed = LookUp(dp)
        self.reshape = ops.Reshape()
        self.layers = nn.CellList([Block(args, dp, mp) for _ in range(args.layers)])
        self.norm = LayerNorm(args.hidden, dp)
        self.head = ops.MatMul(transpose_b=True).shard(((dp, 1), (mp, 1)))
        self.head_weight = weight([args.vocabulary, args.hidden])
        self.loss = Loss(args.vocabulary, dp, mp)
        # 0 where a token may look, -10,000 where it may not. Its values decide nothing here.
        self.mask = weight([1, 1, args.sequence, args.sequence], "zeros")
        self.mask.requires_grad = False

    def construct(self, tokens, labels):
        x = self.embed(tokens, self.table, self.positions)
        x = self.reshape(x, (-1, self.hidden))
        for layer in self.layers:
            x = layer(x, self.mask)
        logits = self.head(self.norm(x), self.head_weight)
        return self.loss(logits, self.reshape(labels, (-1,)))


def token_rows(batch, sequence):
    """Batches of tokens; the dry run takes shapes and types from the first."""
    def generate():
        for _ in range(2):
            yield ms.Tensor(shape=(batch, sequence), dtype=ms.int32), ms.Tensor(shape=(batch, sequence), dtype=ms.int32)

    return generate


def spread(net, args):
    """Gives layers their stage, marks what is recomputed, cuts the batch into micro batches."""
    for i, layer in enumerate(net.layers):
        layer.pipeline_stage = i * args.stages // args.layers
        if args.recompute:
            layer.recompute()
    net.embed.pipeline_stage = 0
    net.norm.pipeline_stage = net.loss.pipeline_stage = args.stages - 1
    if args.micro_batches == 1:
        return net
    cut = nn.PipelineCell if args.stages > 1 else nn.GradAccumulationCell
    return cut(net, args.micro_batches)


def main():
    args = parse_arguments()
    ms.set_context(mode=ms.GRAPH_MODE)
    init()
    mp = args.model_parallel
    dp = get_group_size() // mp // args.stages
    ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.SEMI_AUTO_PARALLEL, gradients_mean=True,
                                 pipeline_stages=args.stages, enable_parallel_optimizer=args.shard_optimizer,
                                 dataset_strategy=((dp, 1), (dp, 1)))
    net = spread(Gpt(args, dp, mp), args)
    optimizer = nn.Adam(net.trainable_params(), learning_rate=1e-4)
    rows = token_rows(args.batch_per_replica * args.micro_batches, args.sequence)
    dataset = ds.GeneratorDataset(rows, ["tokens", "labels"])
    ms.Model(net, optimizer=optimizer).train(1, dataset, dataset_sink_mode=False)


main()
