"""mindspore.nn."""
from mindspore._drydock.lazy import module_getattr
from mindspore.nn.cell import Cell, GraphCell  # noqa: F401
from mindspore.nn.layer import (ELU, AdaptiveAvgPool2d, AvgPool2d, BatchNorm1d, BatchNorm2d, Conv2d, Conv2dTranspose,  # noqa: F401
                                EmbeddingLookup, GroupNorm, HSigmoid, HSwish, LogSigmoid, MaxPool2d, PReLU, ReLU6,
                                SyncBatchNorm)
from mindspore.nn.layer import (GELU, CellList, Dense, Dropout, Embedding, FastGelu, Flatten, Identity,  # noqa: F401
                                LayerNorm, Linear, LogSoftmax, ReLU, SequentialCell, Sigmoid, SiLU, Softmax, Tanh,
                                get_activation)
from mindspore.nn.loss import (CrossEntropyLoss, L1Loss, LossBase, MAELoss, MSELoss, NLLLoss,  # noqa: F401
                               SoftmaxCrossEntropyWithLogits, _Loss)
from mindspore.nn.optim import FTRL, LATER, Adagrad, Lamb, LazyAdam, RMSProp  # noqa: F401
from mindspore.nn.optim import SGD, Adam, AdamWeightDecay, Momentum, Optimizer, opt_init_args_register  # noqa: F401
from mindspore.nn.utils import no_init_parameters  # noqa: F401
from mindspore.nn.wrap import (DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell,  # noqa: F401
                               GradAccumulationCell, MicroBatchInterleaved, PipelineCell, PipelineGradReducer,
                               TrainOneStepWithLossScaleCell, _MicroBatch)
from mindspore.nn.wrap import (DistributedGradReducer, TrainOneStepCell, VirtualDatasetCellTriple,  # noqa: F401
                               WithEvalCell, WithLossCell, _VirtualDatasetCell)

_LATER = {"MultiFieldEmbeddingLookup": "mindspore.nn.layer.multi_field", "BCELoss": "mindspore.nn.loss.bce",
          "_TrainGradAccuStepCell": "mindspore.nn.wrap.more_wrappers",
          "_TrainGradAccuWithLossScaleCell": "mindspore.nn.wrap.more_wrappers",
          "_BroadCastCell": "mindspore.nn.wrap.more_wrappers", "Metric": "mindspore.train.metrics",
          "ClipByNorm": "mindspore.nn.layer.basic", "Tril": "mindspore.nn.layer.basic", "Triu": "mindspore.nn.layer.basic"}
_LATER.update(LATER)
_LATER.update({name: "mindspore.nn.layer.transformer" for name in (
    "MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer", "TransformerEncoder", "TransformerDecoder",
    "Transformer")})
_LATER.update({name: "mindspore.nn.loss.loss" for name in (
    "BCEWithLogitsLoss", "HuberLoss", "KLDivLoss", "RMSELoss", "SmoothL1Loss", "SoftMarginLoss")})
_LATER.update({name: "mindspore.nn.loss.more_losses" for name in (
    "CosineEmbeddingLoss", "DiceLoss", "FocalLoss", "GaussianNLLLoss", "HingeEmbeddingLoss", "MarginRankingLoss",
    "MultiClassDiceLoss", "PoissonNLLLoss")})
_LATER.update({name: "mindspore.nn.dynamic_lr" for name in (
    "piecewise_constant_lr", "exponential_decay_lr", "natural_exp_decay_lr", "inverse_decay_lr", "cosine_decay_lr",
    "polynomial_decay_lr", "warmup_lr")})
_LATER.update({name: "mindspore.nn.learning_rate_schedule" for name in (
    "LearningRateSchedule", "ExponentialDecayLR", "NaturalExpDecayLR", "InverseDecayLR", "CosineDecayLR",
    "PolynomialDecayLR", "WarmUpLR")})
_LATER.update({name: "mindspore.common.seed" for name in ("get_rng_state", "manual_seed", "set_rng_state")})


def __getattr__(name):
    if name == "metrics":
        from mindspore.train import metrics
        return metrics
    return module_getattr(__name__, _LATER)(name)
