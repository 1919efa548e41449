"""mindspore.nn."""
from mindspore._drydock import names
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
_LATER.update({name: "mindspore.nn.layer.lines_and_volumes" for name in (
    "Conv1d", "Conv3d", "Conv1dTranspose", "Conv3dTranspose", "MaxPool1d", "MaxPool3d", "AvgPool1d", "AvgPool3d", "AdaptiveAvgPool1d",
    "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d")})
_LATER.update({name: "mindspore.nn.layer.more_layers" for name in (
    "LeakyReLU", "Hardtanh", "GLU", "Mish", "SeLU", "Softsign", "Tanhshrink", "Softmin", "Threshold", "PixelShuffle", "PixelUnshuffle",
    "Upsample", "ReduceLogSumExp", "Unfold", "HShrink", "SoftShrink", "Dropout1d", "Dropout2d", "Dropout3d", "Pad", "ConstantPad1d",
    "ConstantPad2d", "ConstantPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d",
    "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d",
    "Norm", "OneHot", "MatMul", "Unflatten", "CentralCrop", "PSNR", "Conv2dBnAct", "DenseBnAct", "CellDict",
    "Range", "ParameterUpdate", "SSIM")})
_LATER.update({name: "mindspore.nn.layer.rare_layers" for name in (
    "CELU", "Softmax2d", "LRN", "ChannelShuffle", "RReLU", "LPPool1d", "LPPool2d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "Moments",
    "FractionalMaxPool2d", "FractionalMaxPool3d", "ImageGradients", "L1Regularizer", "Roll", "BiDense", "TimeDistributed", "MatrixDiag", "MatrixDiagPart", "MatrixSetDiag")})
_LATER.update({name: "mindspore.nn.loss.rare_losses" for name in (
    "CTCLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "MultilabelMarginLoss", "SampledSoftmaxLoss", "TripletMarginLoss",
    "TripletMarginWithDistanceLoss")})
_LATER.update({name: "mindspore.nn.wrap.more_wrappers" for name in ("ForwardValueAndGrad", "WithGradCell")})
_LATER.update({name: "mindspore.nn.layer.rnns" for name in ("LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell")})
_LATER.update({name: "mindspore.train.metrics" for name in (
    "Accuracy", "BleuScore", "ConfusionMatrix", "ConfusionMatrixMetric", "CosineSimilarity", "Dice", "F1", "Fbeta",
    "HausdorffDistance", "Loss", "MAE", "MSE", "MeanSurfaceDistance", "OcclusionSensitivity", "Perplexity", "Precision", "ROC",
    "Recall", "RootMeanSquareDistance", "Top1CategoricalAccuracy", "Top5CategoricalAccuracy", "TopKCategoricalAccuracy", "auc",
    "get_metric_fn", "names", "rearrange_inputs")})


def __getattr__(name):
    if name == "metrics":
        from mindspore.train import metrics
        return metrics
    if names.is_hidden(__name__, name):
        raise names.missing((__name__,), name)
    return module_getattr(__name__, _LATER)(name)
