"""A transformer of any shape under any plan: the training step that `drydock plan` compiles for all ranks of its best plans.

    msrun --sim_level=1 --worker_num=8 net.py --layers 2 --hidden 1024 --heads 16 --ffn 4096 --vocabulary 32000 --sequence 1024 \\
          --tensor 2 --stages 2 --micro_batches 4 --recompute full --optimizer_level 1 --sequence_parallel

Llama's layer (RMSNorm, rotary positions, grouped keys and values, a gated feed-forward block) with --gated --positions rotary, else GPT's (LayerNorm,
biases, learned positions, GELU); with --experts the last --sparse_layers of them have experts, with --key_rank attention is latent (DeepSeek V2 and V3).
The batch is cut by data parallelism, the sequence by --context; heads, inner widths and vocabulary by --tensor, with --sequence_parallel the tokens
between them as well; experts by --expert. No weight is ever allocated.
"""
import argparse

import mindspore as ms
import mindspore.dataset as ds
from mindspore import lazy_inline, nn, ops
from mindspore.communication import get_group_size, init

from attention import Angles, Attention, LatentAttention
from feed_forward import FeedForward, SparseFeedForward
from layers import Cut, Linear, Norm, Weights


def parse_arguments():
    parser = argparse.ArgumentParser(description="A transformer of any shape under any plan.")
    for name, default in (("layers", 2), ("hidden", 1024), ("heads", 16), ("kv_heads", 0), ("head_width", 0), ("ffn", 4096),
                          ("vocabulary", 32000), ("sequence", 1024), ("tensor", 1), ("stages", 1), ("interleave", 1), ("context", 1),
                          ("micro_batch", 1), ("micro_batches", 1), ("optimizer_level", 0), ("position_rows", 0), ("experts", 0),
                          ("experts_per_token", 1), ("expert_width", 0), ("shared_width", 0), ("sparse_layers", 0), ("expert", 1),
                          ("query_rank", 0), ("key_rank", 0), ("plain_width", 0), ("rotary_width", 0), ("value_width", 0),
                          ("prediction_layers", 0)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--recompute", choices=("none", "selective", "full"), default="none")
    parser.add_argument("--optimizer", choices=("adamw", "adam"), default="adamw")
    parser.add_argument("--attention", choices=("fused", "plain"), default="fused")
    parser.add_argument("--positions", choices=("rotary", "learned", "none"), default="learned")
    parser.add_argument("--router", choices=("softmax", "sigmoid"), default="softmax")
    # All micro batches through one graph, as mindformers does, or a copy of it for each.
    parser.add_argument("--graph", choices=("shared", "copied"), default="shared")
    parser.add_argument("--parameter_type", choices=("float16", "float32"), default="float32")
    for name in ("gated", "norm_bias", "query_bias", "output_bias", "mlp_bias", "sequence_parallel", "vocab_emb_dp", "tied", "head_norm",
                 "embedding_norm", "no_final_norm", "dropout", "router_bias", "shared_gate"):
        parser.add_argument("--" + name, action="store_true")
    args = parser.parse_args()
    args.kv_heads = args.kv_heads or args.heads
    args.head_width = args.head_width or args.hidden // args.heads
    args.position_rows = args.position_rows or args.sequence
    args.type = ms.float16 if args.parameter_type == "float16" else ms.float32
    if args.attention == "plain" and (args.context > 1 or args.key_rank):
        parser.error("cut sequences and latent attention need --attention fused")
    return args


class Block(nn.Cell):
    """One layer: attention and feed-forward, each behind a normalisation and around a shortcut."""

    def __init__(self, args, cut, sparse):
        super().__init__()
        rows = (cut.rows, 1)
        self.norm1 = Norm(args, (cut.rows,), args.hidden, args.norm_bias)
        self.attention = (LatentAttention if args.key_rank else Attention)(args, cut)
        self.norm2 = Norm(args, (cut.rows,), args.hidden, args.norm_bias)
        self.feed_forward = SparseFeedForward(args, cut) if sparse else FeedForward(args, cut, args.ffn)
        self.drop = ops.Dropout(keep_prob=0.9).shard((rows,)) if args.dropout else None
        self.add = ops.Add().shard((rows, rows))

    def dropped(self, x):
        return x if self.drop is None else self.drop(x)[0]

    def construct(self, x, mask, cos, sin):
        x = self.add(x, self.dropped(self.attention(self.norm1(x), mask, cos, sin)))
        return self.add(x, self.dropped(self.feed_forward(self.norm2(x))))


class Prediction(nn.Cell):
    """Predicts one token further: the last layer's output beside the next token's embedding, made one again, one layer, one normalisation."""

    def __init__(self, args, cut):
        super().__init__()
        rows = (cut.rows, 1)
        self.norm_before = Norm(args, (cut.rows,), args.hidden, args.norm_bias)
        self.norm_next = Norm(args, (cut.rows,), args.hidden, args.norm_bias)
        self.concat = ops.Concat(1).shard((rows, rows))
        self.merge = Linear(args, 2 * args.hidden, args.hidden, cut.rows)
        self.block = Block(args, cut, args.experts > 0)
        self.norm = Norm(args, (cut.rows,), args.hidden, args.norm_bias)

    def construct(self, x, following, mask, cos, sin):
        merged = self.merge(self.concat((self.norm_before(x), self.norm_next(following))))
        return self.block(merged, mask, cos, sin)


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


class Embedding(Weights):
    """Token table, for GPT also positions; rows come out."""

    def __init__(self, args, cut):
        super().__init__(args)
        self.hidden, self.sequence, self.spare = args.hidden, args.sequence, args.position_rows - args.sequence
        self.positions = self.weight([args.position_rows, args.hidden]) if args.positions == "learned" else None
        self.first = ops.Slice().shard(((1, 1),))
        self.look_up = ops.Gather().shard(((1 if args.vocab_emb_dp else cut.mp, 1), (cut.tokens, 1)))
        self.dp, self.cp, self.samples = cut.dp, cut.cp, args.micro_batch
        if cut.cp > 1:
            self.add = ops.Add().shard(((cut.dp, cut.cp, 1, 1, 1), (cut.cp, 1, 1, 1)))
        else:
            self.add = ops.Add().shard(((cut.dp, 1, 1), (1, 1)))
        self.norm = Norm(args, (cut.rows,), args.hidden, args.norm_bias) if args.embedding_norm else None
        self.drop = ops.Dropout(keep_prob=0.9).shard(((cut.rows, 1),)) if args.dropout else None
        self.reshape = ops.Reshape()
        self.mixed = cut.mixed
        self.together = ops.Transpose().shard(((cut.dp, 1, cut.cp, 1),))

    def arranged(self, tokens):
        """The tokens of a device in one row: parts of several samples one behind the other where the sequence is cut."""
        if self.mixed:
            tokens = self.together(self.reshape(tokens, (self.dp, self.samples, self.cp, -1)), (0, 2, 1, 3))
        return tokens if self.cp == 1 else self.reshape(tokens, (self.dp * self.cp, -1))

    def placed(self, x):
        """With what the position adds."""
        positions = self.half(self.positions)
        if self.spare:
            positions = self.first(positions, (0, 0), (self.sequence, self.hidden))
        if self.cp == 1:
            return self.add(x, positions)
        x = self.reshape(x, (self.dp, self.cp, self.samples, -1, self.hidden))
        return self.add(x, self.reshape(positions, (self.cp, 1, -1, self.hidden)))

    def construct(self, tokens, table):
        x = self.look_up(self.half(table), self.arranged(tokens), 0)
        if self.positions is not None:
            x = self.placed(x)
        x = self.reshape(x, (-1, self.hidden))
        x = x if self.norm is None else self.norm(x)
        return x if self.drop is None else self.drop(x)[0]


class Head(Weights):
    """Logits of the normalised rows, and their loss."""

    def __init__(self, args, cut):
        super().__init__(args)
        self.product = ops.MatMul(transpose_b=True).shard(((cut.tokens, 1), (cut.mp, 1)))
        self.loss = Loss(args.vocabulary, cut.tokens, cut.mp)

    def construct(self, x, weight, labels):
        return self.loss(self.product(x, self.half(weight)), labels)


class Transformer(Weights):
    """Token table, the layers, and the loss against the next token, with --prediction_layers also against those behind it."""

    def __init__(self, args, cut):
        super().__init__(args)
        self.table = self.weight([args.vocabulary, args.hidden])
        self.embedding = Embedding(args, cut)
        dense = args.layers - (args.sparse_layers if args.experts else 0)
        self.layers = nn.CellList([Block(args, cut, i >= dense) for i in range(args.layers)])
        self.norm = None if args.no_final_norm else Norm(args, (cut.rows,), args.hidden, args.norm_bias)
        self.predictions = nn.CellList([Prediction(args, cut) for _ in range(args.prediction_layers)])
        self.further = nn.CellList([Embedding(args, cut) for _ in range(args.prediction_layers)])
        self.head = Head(args, cut)
        self.head_weight = None if args.tied else self.weight([args.vocabulary, args.hidden])
        self.plus, self.times = ops.Add().shard(((), ())), ops.Mul().shard(((), ()))
        self.share = ms.Tensor(0.1, ms.float32)
        self.reshape = ops.Reshape()
        self.fused = args.attention == "fused"
        if self.fused:
            self.mask = self.fixed([2048, 2048], ms.uint8)
        else:
            self.mask = self.weight([1, 1, args.sequence, args.sequence], "zeros")
            self.mask.requires_grad = False
        self.angles = Angles(args)

    def construct(self, tokens, labels):
        x = self.embedding(tokens, self.table)
        mask = self.mask if self.fused else self.half(self.mask)
        cos, sin = self.angles()
        for layer in self.layers:
            x = layer(x, mask, cos, sin)
        wanted = self.reshape(self.embedding.arranged(labels), (-1,))
        weight = self.table if self.head_weight is None else self.head_weight
        loss = self.head(x if self.norm is None else self.norm(x), weight, wanted)
        for predict, further in zip(self.predictions, self.further):
            x = predict(x, further(labels, self.table), mask, cos, sin)
            loss = self.plus(loss, self.times(self.head(predict.norm(x), weight, wanted), self.share))
        return loss


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
    net.embedding.pipeline_stage = 0  # a table in front of all stages would be in all of them
    for cell in (net.norm, net.head, *net.predictions, *net.further):
        if cell is not None:
            cell.pipeline_stage = args.stages - 1
    for predict in net.predictions:
        if args.recompute == "full":
            predict.block.recompute()
        elif args.recompute == "selective":
            predict.block.attention.core.recompute()
    if args.micro_batches == 1:
        return net
    cut = nn.PipelineCell if args.stages > 1 else nn.GradAccumulationCell
    return cut(net, args.micro_batches)


class WideAdamW(nn.AdamWeightDecay):
    """Moments in 32 bits, whatever the type of the weights is."""

    def __init__(self, weights, learning_rate):
        super().__init__(weights, learning_rate=learning_rate)
        for state in (*self.moments1, *self.moments2):
            state.set_dtype(ms.float32)


def main():
    args = parse_arguments()
    ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend", jit_config={"jit_level": "O0"})
    init()
    cut = Cut(args, get_group_size() // args.stages)
    settings = {"enable_alltoall": True} if args.experts else {}
    if args.interleave > 1:
        settings["pipeline_config"] = {"pipeline_interleave": True, "pipeline_scheduler": "1f1b"}
    if args.optimizer_level > 0:
        settings["parallel_optimizer_config"] = {"optimizer_level": f"level{args.optimizer_level}"}
    ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.SEMI_AUTO_PARALLEL, gradients_mean=True, pipeline_stages=args.stages,
                                 enable_parallel_optimizer=args.optimizer_level > 0, dataset_strategy=((cut.dp, 1), (cut.dp, 1)), **settings)
    if args.micro_batches > 1 and args.graph == "shared":
        Transformer.__init__ = lazy_inline(Transformer.__init__)
    net = spread(Transformer(args, cut), args)
    optimizer = (nn.Adam if args.optimizer == "adam" else WideAdamW)(net.trainable_params(), learning_rate=1e-4)
    rows = token_rows(args.micro_batch * args.micro_batches, args.sequence)
    dataset = ds.GeneratorDataset(rows, ["tokens", "labels"])
    ms.Model(net, optimizer=optimizer).train(1, dataset, dataset_sink_mode=False)


main()
