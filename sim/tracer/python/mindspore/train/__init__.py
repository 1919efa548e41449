"""mindspore.train."""
from mindspore._drydock.lazy import module_getattr
from mindspore.train.callback import (Callback, CheckpointConfig, EarlyStopping, FlopsUtilizationCollector,  # noqa: F401
                                      LearningRateScheduler, LossMonitor, ModelCheckpoint, OnRequestExit, RunContext,
                                      SummaryCollector, TimeMonitor)
from mindspore.train.metrics import Accuracy, Loss, Metric  # noqa: F401
from mindspore.train.model import Model  # noqa: F401
from mindspore.train.serialization import (export, load_checkpoint, load_distributed_checkpoint,  # noqa: F401
                                           load_param_into_net, save_checkpoint)

__getattr__ = module_getattr(__name__)
