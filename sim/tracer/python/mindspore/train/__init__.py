"""mindspore.train."""
from mindspore._drydock.lazy import module_getattr
from mindspore.train.callback import (Callback, CheckpointConfig, EarlyStopping, FlopsUtilizationCollector,  # noqa: F401
                                      LearningRateScheduler, LossMonitor, ModelCheckpoint, OnRequestExit, RunContext,
                                      SummaryCollector, TimeMonitor)
from mindspore.train.metrics import Accuracy, Loss, Metric  # noqa: F401
from mindspore.train.model import Model  # noqa: F401
from mindspore.train.serialization import (export, load_checkpoint, load_distributed_checkpoint,  # noqa: F401
                                           load_param_into_net, save_checkpoint)


def get_metrics(metrics):
    """The metrics by name; all of them answer zero."""
    if metrics is None or isinstance(metrics, dict):
        return metrics
    return {name: Metric() for name in metrics}


__getattr__ = module_getattr(__name__, {
    "data_sink": "mindspore.train.data_sink", "LossScaleManager": "mindspore.train.loss_scale_manager",
    "FixedLossScaleManager": "mindspore.train.loss_scale_manager",
    "DynamicLossScaleManager": "mindspore.train.loss_scale_manager"})
