"""Attention over several heads and the layers of a transformer.

Source: mindspore/python/mindspore/nn/layer/transformer.py, mindspore/python/mindspore/ops/function/nn_func.py
(multi_head_attention_forward: which operators, in which order).
"""
import copy
import math

from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.initializer import HeUniform, Uniform, initializer
from mindspore.common.parameter import Parameter
from mindspore.common.tensor import Tensor
from mindspore.nn.cell import Cell
from mindspore.nn.layer.basic import Dense, Dropout
from mindspore.nn.layer.container import CellList
from mindspore.nn.layer.normalization import LayerNorm
from mindspore.ops import operations as P


def _linear(x, weight, bias):
    from mindspore.ops import functional as F
    product = F.matmul(x, weight.swapaxes(-1, -2))
    return product if bias is None else product + bias


def _thirds(x):
    return (None,) * 3 if x is None else P.Split(0, 3)(x)


class MultiheadAttention(Cell):
    """See mindspore.nn.MultiheadAttention."""

    def __init__(self, embed_dim, num_heads, dropout=0.0, has_bias=True, add_bias_kv=False, add_zero_attn=False,
                 kdim=None, vdim=None, batch_first=False, dtype=mstype.float32):
        super().__init__()
        if embed_dim % num_heads:
            raise user_error(ValueError, "MultiheadAttention:heads", "embed_dim must be a multiple of num_heads")
        if add_bias_kv or add_zero_attn:
            raise Unsupported("mindspore.nn.MultiheadAttention", "add_bias_kv and add_zero_attn are not supported")
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.dropout, self.batch_first, self.dtype = dropout, batch_first, dtype
        self._make_weights(has_bias)

    def _make_weights(self, has_bias):
        size, dtype = self.embed_dim, self.dtype
        weight = lambda columns, name, rows=size: Parameter(  # noqa: E731
            initializer("xavier_uniform", (rows, columns), dtype), name)
        if self._qkv_same_embed_dim:
            self.in_proj_weight = weight(size, "in_proj_weight", 3 * size)
        else:
            self.q_proj_weight = weight(size, "q_proj_weight")
            self.k_proj_weight = weight(self.kdim, "k_proj_weight")
            self.v_proj_weight = weight(self.vdim, "v_proj_weight")
        self.in_proj_bias = Parameter(initializer("zeros", (3 * size,), dtype), "in_proj_bias") if has_bias else None
        self.out_proj = Dense(size, size, has_bias=has_bias, weight_init=HeUniform(math.sqrt(5)),
                              bias_init=Uniform(1 / math.sqrt(size)), dtype=dtype)

    def construct(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                  average_attn_weights=True):
        batched = query.ndim == 3
        if self.batch_first and batched:
            query, key, value = _each(lambda x: x.swapaxes(1, 0), query, key, value)
        if not batched:
            query, key, value = _each(lambda x: P.ExpandDims()(x, 1), query, key, value)
            if key_padding_mask is not None:
                key_padding_mask = P.ExpandDims()(key_padding_mask, 0)
        output, weights = self._attend(query, key, value, self._mask(query, key, attn_mask, key_padding_mask))
        if self.batch_first and batched:
            output = output.swapaxes(1, 0)
        if not batched:
            output = output.squeeze(1)
        if not need_weights:
            return (output,)
        if average_attn_weights:
            weights = weights.sum(axis=1) / self.num_heads
        return output, weights if batched else weights.squeeze(0)

    def _heads(self, x, batch):
        """(length, batch, heads * size) as (batch, heads, length, size)."""
        length = x.shape[0]
        x = x.reshape((length, batch * self.num_heads, self.head_dim)).swapaxes(0, 1)
        return x.reshape((batch, self.num_heads, length, self.head_dim))

    def _attend(self, query, key, value, mask):
        from mindspore.ops import functional as F
        length, batch, _ = query.shape
        if self._qkv_same_embed_dim:
            weights = _thirds(self.in_proj_weight)
        else:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        biases = _thirds(self.in_proj_bias)
        q, k, v = (self._heads(_linear(x, w, b), batch) for x, w, b in zip((query, key, value), weights, biases))
        scale = Tensor(self.head_dim ** 0.25, self.dtype if q.dtype is self.dtype else q.dtype)
        scores = F.matmul(q / scale, k.swapaxes(-2, -1) / scale)
        if mask is not None:
            scores = scores + mask
        shares = P.Softmax(-1)(scores)
        if self.training and self.dropout > 0:
            shares = P.Dropout(1 - self.dropout)(shares)[0]
        output = P.Transpose()(F.matmul(shares, v), (2, 0, 1, 3)).reshape((batch * length, self.embed_dim))
        output = _linear(output, self.out_proj.weight, self.out_proj.bias if self.out_proj.has_bias else None)
        return output.reshape((length, batch, self.embed_dim)), shares

    def _mask(self, query, key, mask, padding):
        """What is added to the scores, (1 or batch, 1 or heads, length, length of the keys); None if nothing is."""
        from mindspore.ops import functional as F
        batch, keys = query.shape[1], key.shape[0]
        if mask is not None and mask.ndim == 2:
            mask = P.ExpandDims()(mask, 0)
        if padding is not None:
            padding = F.tile(padding.reshape((batch, 1, 1, keys)), (1, self.num_heads, 1, 1))
            padding = padding.reshape((batch * self.num_heads, 1, keys))
            if mask is None:
                mask = padding
            else:
                mask = F.logical_or(mask, padding) if mask.dtype.kind == "bool" else mask + padding
        if mask is None:
            return None
        if mask.dtype.kind == "bool":
            zeros = F.zeros(mask.shape, query.dtype)
            mask = F.masked_fill(zeros, mask, Tensor(float("-inf"), query.dtype))
        if mask.shape[0] == 1:
            return P.ExpandDims()(mask, 0)
        return mask.reshape((batch, self.num_heads, -1, keys))


def _each(change, *values):
    """change(value) of each; equal values stay equal."""
    made = {id(value): change(value) for value in values}
    return tuple(made[id(value)] for value in values)


def _activation(given):
    from mindspore.ops import functional as F
    if not isinstance(given, str):
        return given
    if given not in ("relu", "gelu"):
        raise user_error(ValueError, "Transformer:activation", "the activation must be 'relu' or 'gelu', not %r" % given)
    return F.relu if given == "relu" else F.gelu


class _Layer(Cell):
    """Attention and products of an encoder or decoder layer."""

    _norms = 2

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation="relu", layer_norm_eps=1e-5,
                 batch_first=False, norm_first=False, dtype=mstype.float32):
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, dtype=dtype)
        if self._norms == 3:
            self.multihead_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, dtype=dtype)
        self.dense1 = self._product(d_model, dim_feedforward, dtype)
        self.dropout = Dropout(p=dropout)
        self.dense2 = self._product(dim_feedforward, d_model, dtype)
        self.norm_first = norm_first
        for i in range(1, self._norms + 1):
            setattr(self, "norm%d" % i, LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype))
        for i in range(1, self._norms + 1):
            setattr(self, "dropout%d" % i, Dropout(p=dropout))
        self.activation = _activation(activation)
        self._settings = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first,
                          dtype)

    @staticmethod
    def _product(inputs, outputs, dtype):
        return Dense(inputs, outputs, weight_init=HeUniform(math.sqrt(5)), bias_init=Uniform(1 / math.sqrt(inputs)),
                     dtype=dtype)

    def _sa_block(self, x, attn_mask, key_padding_mask):
        return self.dropout1(self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask,
                                            need_weights=False)[0])

    def _ff_block(self, x):
        x = self.dense2(self.dropout(self.activation(self.dense1(x))))
        return (self.dropout3 if self._norms == 3 else self.dropout2)(x)

    def _through(self, x, steps):
        """x + step(x), normed before or behind each step."""
        for norm, step in steps:
            x = x + step(norm(x)) if self.norm_first else norm(x + step(x))
        return x


class TransformerEncoderLayer(_Layer):
    """See mindspore.nn.TransformerEncoderLayer."""

    def construct(self, src, src_mask=None, src_key_padding_mask=None):
        return self._through(src, ((self.norm1, lambda x: self._sa_block(x, src_mask, src_key_padding_mask)),
                                   (self.norm2, self._ff_block)))


class TransformerDecoderLayer(_Layer):
    """See mindspore.nn.TransformerDecoderLayer."""

    _norms = 3

    def construct(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
                  memory_key_padding_mask=None):
        return self._through(tgt, (
            (self.norm1, lambda x: self._sa_block(x, tgt_mask, tgt_key_padding_mask)),
            (self.norm2, lambda x: self._mha_block(x, memory, memory_mask, memory_key_padding_mask)),
            (self.norm3, self._ff_block)))

    def _mha_block(self, x, memory, attn_mask, key_padding_mask):
        return self.dropout2(self.multihead_attn(x, memory, memory, attn_mask=attn_mask,
                                                 key_padding_mask=key_padding_mask, need_weights=False)[0])


def _copies(layer, kind, count):
    made = kind(*layer._settings)
    return CellList([copy.deepcopy(made) for _ in range(count)])


class TransformerEncoder(Cell):
    """See mindspore.nn.TransformerEncoder."""

    def __init__(self, encoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = _copies(encoder_layer, TransformerEncoderLayer, num_layers)
        self.norm = norm

    def construct(self, src, src_mask=None, src_key_padding_mask=None):
        for layer in self.layers:
            src = layer(src, src_mask=src_mask, src_key_padding_mask=src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Cell):
    """See mindspore.nn.TransformerDecoder."""

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = _copies(decoder_layer, TransformerDecoderLayer, num_layers)
        self.norm = norm

    def construct(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
                  memory_key_padding_mask=None):
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                        tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Cell):
    """See mindspore.nn.Transformer."""

    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048,
                 dropout=0.1, activation="relu", custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5,
                 batch_first=False, norm_first=False, dtype=mstype.float32):
        super().__init__()
        settings = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, dtype)
        norm = lambda: LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)  # noqa: E731
        self.encoder = custom_encoder or TransformerEncoder(TransformerEncoderLayer(*settings), num_encoder_layers, norm())
        self.decoder = custom_decoder or TransformerDecoder(TransformerDecoderLayer(*settings), num_decoder_layers, norm())
        self.d_model = d_model

    def construct(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
                  tgt_key_padding_mask=None, memory_key_padding_mask=None):
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise user_error(ValueError, "Transformer:features", "src and tgt must have d_model features")
        memory = self.encoder(src, src_mask=src_mask, src_key_padding_mask=src_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                            tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask)


__getattr__ = module_getattr("mindspore.nn")
