"""A transformer of any shape under any plan: the training step that `drydock plan` compiles for all ranks of its best plans.

    msrun --sim_level=1 --worker_num=8 net.py --layers 2 --hidden 1024 --heads 16 --ffn 4096 --vocabulary 32000 --sequence 1024 \\
          --tensor 2 --stages 2 --micro_batches 4 --recompute full --optimizer_level 1 --sequence_parallel

Llama's layer (RMSNorm, rotary positions, grouped keys and values, a gated feed-forward block) with --gated, else GPT's (LayerNorm,
biases, learned positions, GELU). The batch is cut by data parallelism; heads, inner width and vocabulary by tensor parallelism,
with --sequence_parallel the tokens between them as well. No weight is ever allocated.
"""
import argparse

import mindspore as ms
import mindspore.dataset as ds
from mindspore import Parameter, lazy_inline, nn, ops
from mindspore.common.initializer import initializer
from mindspore.communication import get_group_size, init


def parse_arguments():
    parser = argparse.ArgumentParser(description="A transformer of any shape under any plan.")
    for name, default in (("layers", 2), ("hidden", 1024), ("heads", 16), ("kv_heads", 0), ("head_width", 0), ("ffn", 4096),
                          ("vocabulary", 32000), ("sequence", 1024), ("tensor", 1), ("stages", 1), ("interleave", 1),
                          ("micro_batch", 1), ("micro_batches", 1), ("optimizer_level", 0)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--recompute", choices=("none", "selective", "full"), default="none")
    parser.add_argument("--optimizer", choices=("adamw", "adam"), default="adamw")
    parser.add_argument("--attention", choices=("fused", "plain"), default="fused")
    parser.add_argument("--parameter_type", choices=("float16", "float32"), default="float32")
    for name in ("gated", "rotary", "norm_bias", "query_bias", "output_bias", "mlp_bias", "sequence_parallel", "vocab_emb_dp"):
        parser.add_argument("--" + name, action="store_true")
    args = parser.parse_args()
    args.kv_heads = args.kv_heads or args.heads
    args.head_width = args.head_width or args.hidden // args.heads
    args.type = ms.float16 if args.parameter_type == "float16" else ms.float32
    return args


class Weights(nn.Cell):
    """Parameters of one type that are used in another."""

    def __init__(self, args):
        super().__init__()
        self.type = args.type
        self.cast = ops.Cast()

    def weight(self, shape, init="normal"):
        return Parameter(initializer(init, shape, self.type))

    def half(self, weight):
        return weight if self.type == ms.float16 else self.cast(weight, ms.float16)


class Linear(Weights):
    """y = x W + b over the last dimension; `cut_out` and `cut_in` say how often the two widths are cut, `rows` how often what comes
    out is cut along the tokens if not as often as what goes in."""

    def __init__(self, args, width_in, width_out, dp, cut_in=1, cut_out=1, bias=False, rows=0):
        super().__init__(args)
        self.matrix = self.weight([width_in, width_out])
        cuts = ((dp, cut_in), (cut_in, cut_out))
        self.matmul = ops.MatMul().shard(cuts, ((rows, 1),)) if rows else ops.MatMul().shard(cuts)
        self.bias = self.weight([width_out], "zeros") if bias else None
        self.add = ops.Add().shard(((rows or dp, cut_out), (cut_out,)))

    def construct(self, x):
        y = self.matmul(x, self.half(self.matrix))
        return y if self.bias is None else self.add(y, self.half(self.bias))


class Norm(Weights):
    """Normalises the last dimension, which is never cut."""

    def __init__(self, args, rows):
        super().__init__(args)
        self.gamma = self.weight([args.hidden], "ones")
        self.beta = self.weight([args.hidden], "zeros") if args.norm_bias else None
        if args.norm_bias:
            self.norm = ops.LayerNorm(begin_norm_axis=-1, begin_params_axis=-1).shard(((rows, 1), (1,), (1,)))
        else:
            self.norm = ops.RmsNorm().shard(((rows, 1), (1,)))

    def construct(self, x):
        if self.beta is None:
            return self.norm(x, self.half(self.gamma))[0]
        return self.norm(x, self.half(self.gamma), self.half(self.beta))[0]


class PlainCore(nn.Cell):
    """Softmax of the scores, times the values."""

    def __init__(self, args, dp, mp):
        super().__init__()
        heads = (dp, mp, 1, 1)
        self.scores = ops.BatchMatMul(transpose_b=True).shard((heads, heads))
        self.scale = ops.Mul().shard((heads, ()))
        self.mask = ops.Add().shard((heads, (1, 1, 1, 1)))
        self.softmax = ops.Softmax(axis=-1).shard((heads,))
        self.mix = ops.BatchMatMul().shard((heads, heads))
        self.factor = ms.Tensor(args.head_width ** -0.5, ms.float16)
        self.repeats = args.heads // args.kv_heads
        self.kv_heads, self.heads, self.sequence, self.width = args.kv_heads, args.heads, args.sequence, args.head_width
        self.tile = ops.Tile().shard(((dp, mp, 1, 1, 1),))
        self.reshape = ops.Reshape()

    def grown(self, x):
        if self.repeats == 1:
            return x
        x = self.reshape(x, (-1, self.kv_heads, 1, self.sequence, self.width))
        return self.reshape(self.tile(x, (1, 1, self.repeats, 1, 1)), (-1, self.heads, self.sequence, self.width))

    def construct(self, query, key, value, mask):
        scores = self.mask(self.scale(self.scores(query, self.grown(key)), self.factor), mask)
        return self.mix(self.softmax(scores), self.grown(value))


class FusedCore(nn.Cell):
    """The same in one kernel, which keeps no scores."""

    def __init__(self, args, dp, mp):
        super().__init__()
        heads = (dp, mp, 1, 1)
        self.flash = ops.operations.nn_ops.FlashAttentionScore(
            head_num=args.heads, input_layout="BNSD", scale_value=args.head_width ** -0.5, sparse_mode=2).shard((heads, heads, heads, (1, 1)))

    def construct(self, query, key, value, mask):
        return self.flash(query, key, value, None, None, None, mask)[3]


class Rotary(nn.Cell):
    """Turns pairs of a head's width by an angle that grows with the position."""

    def __init__(self, dp, mp):
        super().__init__()
        heads = (dp, mp, 1, 1)
        self.mul = ops.Mul().shard((heads, (1, 1, 1, 1)))
        self.plus = ops.Add().shard((heads, heads))
        self.split = ops.Split(3, 2).shard((heads,))
        self.neg = ops.Neg().shard((heads,))
        self.join = ops.Concat(3).shard((heads, heads))

    def construct(self, x, cos, sin):
        left, right = self.split(x)
        return self.plus(self.mul(x, cos), self.mul(self.join((self.neg(right), left)), sin))


class Attention(nn.Cell):
    """Causal self-attention; the heads are cut."""

    def __init__(self, args, dp, mp, rows):
        super().__init__()
        self.sequence, self.width, self.heads, self.kv_heads = args.sequence, args.head_width, args.heads, args.kv_heads
        inner, outer = args.heads * args.head_width, args.kv_heads * args.head_width
        self.query = Linear(args, args.hidden, inner, dp, cut_out=mp, bias=args.query_bias)
        self.key = Linear(args, args.hidden, outer, dp, cut_out=mp, bias=args.query_bias)
        self.value = Linear(args, args.hidden, outer, dp, cut_out=mp, bias=args.query_bias)
        self.out = Linear(args, inner, args.hidden, dp, cut_in=mp, bias=args.output_bias, rows=rows if rows != dp else 0)
        self.reshape = ops.Reshape()
        self.to_heads = ops.Transpose().shard(((dp, 1, mp, 1),))
        self.from_heads = ops.Transpose().shard(((dp, mp, 1, 1),))
        self.rotary = Rotary(dp, mp) if args.rotary else None
        self.core = FusedCore(args, dp, mp) if args.attention == "fused" else PlainCore(args, dp, mp)

    def split_heads(self, x, heads):
        return self.to_heads(self.reshape(x, (-1, self.sequence, heads, self.width)), (0, 2, 1, 3))

    def construct(self, x, mask, cos, sin):
        query = self.split_heads(self.query(x), self.heads)
        key = self.split_heads(self.key(x), self.kv_heads)
        if self.rotary is not None:
            query, key = self.rotary(query, cos, sin), self.rotary(key, cos, sin)
        mixed = self.core(query, key, self.split_heads(self.value(x), self.kv_heads), mask)
        return self.out(self.reshape(self.from_heads(mixed, (0, 2, 1, 3)), (-1, self.heads * self.width)))


class FeedForward(nn.Cell):
    """Two products with GELU between them, or three with a gate."""

    def __init__(self, args, dp, mp, rows):
        super().__init__()
        self.up = Linear(args, args.hidden, args.ffn, dp, cut_out=mp, bias=args.mlp_bias)
        self.down = Linear(args, args.ffn, args.hidden, dp, cut_in=mp, bias=args.mlp_bias, rows=rows if rows != dp else 0)
        self.gate = Linear(args, args.hidden, args.ffn, dp, cut_out=mp, bias=args.mlp_bias) if args.gated else None
        self.gelu = ops.GeLU().shard(((dp, mp),))
        self.silu = ops.auto_generate.SiLU().shard(((dp, mp),))
        self.gated = ops.Mul().shard(((dp, mp), (dp, mp)))

    def construct(self, x):
        if self.gate is None:
            return self.down(self.gelu(self.up(x)))
        return self.down(self.gated(self.silu(self.gate(x)), self.up(x)))


class Block(nn.Cell):
    """One layer: attention and feed-forward, each behind a normalisation and around a shortcut."""

    def __init__(self, args, dp, mp):
        super().__init__()
        rows = dp * mp if args.sequence_parallel else dp
        self.norm1 = Norm(args, rows)
        self.attention = Attention(args, dp, mp, rows)
        self.norm2 = Norm(args, rows)
        self.feed_forward = FeedForward(args, dp, mp, rows)
        self.add = ops.Add().shard(((rows, 1), (rows, 1)))

    def construct(self, x, mask, cos, sin):
        x = self.add(x, self.attention(self.norm1(x), mask, cos, sin))
        return self.add(x, self.feed_forward(self.norm2(x)))


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


class Transformer(Weights):
    """Token table, for GPT also positions, the layers, and the loss against the next token."""

    def __init__(self, args, dp, mp):
        super().__init__(args)
        self.hidden = args.hidden
        self.table = self.weight([args.vocabulary, args.hidden])
        self.positions = None if args.rotary else self.weight([args.sequence, args.hidden])
        self.look_up = ops.Gather().shard(((1 if args.vocab_emb_dp else mp, 1), (dp, 1)))
        self.add = ops.Add().shard(((dp, 1, 1), (1, 1)))
        self.reshape = ops.Reshape()
        self.layers = nn.CellList([Block(args, dp, mp) for _ in range(args.layers)])
        self.norm = Norm(args, dp * mp if args.sequence_parallel else dp)
        self.head = ops.MatMul(transpose_b=True).shard(((dp, 1), (mp, 1)))
        self.head_weight = self.weight([args.vocabulary, args.hidden])
        self.loss = Loss(args.vocabulary, dp, mp)
        # Values of constants decide nothing here.
        self.fused = args.attention == "fused"
        if self.fused:
            self.mask = initializer("ones", [2048, 2048], ms.uint8)
        else:
            self.mask = self.weight([1, 1, args.sequence, args.sequence], "zeros")
            self.mask.requires_grad = False
        turn = [1, 1, args.sequence, args.head_width] if args.rotary else [1]
        self.cos, self.sin = initializer("ones", turn, ms.float16), initializer("ones", turn, ms.float16)

    def construct(self, tokens, labels):
        x = self.look_up(self.half(self.table), tokens, 0)
        if self.positions is not None:
            x = self.add(x, self.half(self.positions))
        x = self.reshape(x, (-1, self.hidden))
        mask = self.mask if self.fused else self.half(self.mask)
        for layer in self.layers:
            x = layer(x, mask, self.cos, self.sin)
        logits = self.head(self.norm(x), self.half(self.head_weight))
        return self.loss(logits, self.reshape(labels, (-1,)))


def token_rows(batch, sequence):
    """Batches of tokens; the dry run takes shapes and types from the first."""
    def generate():
        for _ in range(2):
            yield ms.Tensor(shape=(batch, sequence), dtype=ms.int32), ms.Tensor(shape=(batch, sequence), dtype=ms.int32)

    return generate


def stages_of(args):
    """Stage of each layer: equal shares, the rest in the middle; with parts that take turns, one part after the other."""
    if args.interleave > 1:
        part = args.layers // (args.stages * args.interleave)
        return [i // part % args.stages for i in range(args.layers)]
    each, rest = divmod(args.layers, args.stages)
    begin = (args.stages - rest) // 2
    stages = []
    for stage in range(args.stages):
        stages += [stage] * (each + (begin <= stage < begin + rest))
    return stages


def spread(net, args):
    """Gives layers their stage, marks what is recomputed, cuts the batch into micro batches."""
    for i, (layer, stage) in enumerate(zip(net.layers, stages_of(args))):
        layer.pipeline_stage = stage
        if args.interleave > 1:
            layer.pipeline_segment = i * args.interleave // args.layers
        if args.recompute == "full":
            layer.recompute()
        elif args.recompute == "selective":
            layer.attention.core.recompute()
    net.norm.pipeline_stage = net.loss.pipeline_stage = args.stages - 1
    if args.micro_batches == 1:
        return net
    cut = nn.PipelineCell if args.stages > 1 else nn.GradAccumulationCell
    return cut(net, args.micro_batches)


def main():
    args = parse_arguments()
    ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
    init()
    mp = args.tensor
    dp = get_group_size() // mp // args.stages
    settings = {}
    if args.interleave > 1:
        settings["pipeline_config"] = {"pipeline_interleave": True, "pipeline_scheduler": "1f1b"}
    if args.optimizer_level > 0:
        settings["parallel_optimizer_config"] = {"optimizer_level": f"level{args.optimizer_level}"}
    ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.SEMI_AUTO_PARALLEL, gradients_mean=True, pipeline_stages=args.stages,
                                 enable_parallel_optimizer=args.optimizer_level > 0, dataset_strategy=((dp, 1), (dp, 1)), **settings)
    if args.interleave > 1 or args.stages == 1 and args.optimizer_level > 1 and args.micro_batches > 1:
        Transformer.__init__ = lazy_inline(Transformer.__init__)
    net = spread(Transformer(args, dp, mp), args)
    optimizer = (nn.Adam if args.optimizer == "adam" else nn.AdamWeightDecay)(net.trainable_params(), learning_rate=1e-4)
    rows = token_rows(args.micro_batch * args.micro_batches, args.sequence)
    dataset = ds.GeneratorDataset(rows, ["tokens", "labels"])
    ms.Model(net, optimizer=optimizer).train(1, dataset, dataset_sink_mode=False)


main()
