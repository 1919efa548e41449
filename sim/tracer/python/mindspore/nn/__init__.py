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
from mindspore.nn.optim import FTRL, LARS, Adagrad, AdaFactor, Lamb, LazyAdam  # noqa: F401
from mindspore.nn.optim import SGD, Adam, AdamWeightDecay, Momentum, Optimizer  # noqa: F401
from mindspore.nn.utils import no_init_parameters  # noqa: F401
from mindspore.nn.wrap import (DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell,  # noqa: F401
                               GradAccumulationCell, MicroBatchInterleaved, PipelineCell, PipelineGradReducer,
                               TrainOneStepWithLossScaleCell, _MicroBatch)
from mindspore.nn.wrap import (DistributedGradReducer, TrainOneStepCell, VirtualDatasetCellTriple,  # noqa: F401
                               WithEvalCell, WithLossCell, _VirtualDatasetCell)

__getattr__ = module_getattr(__name__)
