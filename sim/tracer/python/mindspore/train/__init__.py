"""mindspore.train."""
from mindspore._drydock.lazy import module_getattr
from mindspore.train.callback import (Callback, CheckpointConfig, EarlyStopping, FlopsUtilizationCollector,  # noqa: F401
                                      LearningRateScheduler, LossMonitor, ModelCheckpoint, OnRequestExit, RunContext,
                                      SummaryCollector, TimeMonitor)
from mindspore.train.metrics import (MAE, MSE, ROC, F1, Accuracy, BleuScore, ConfusionMatrix,  # noqa: F401
                                     ConfusionMatrixMetric, CosineSimilarity, Dice, Fbeta, HausdorffDistance, Loss,
                                     MeanSurfaceDistance, Metric, OcclusionSensitivity, Perplexity, Precision, Recall,
                                     RootMeanSquareDistance, Top1CategoricalAccuracy, Top5CategoricalAccuracy,
                                     TopKCategoricalAccuracy, auc, get_metric_fn, get_metrics, names, rearrange_inputs)
from mindspore.train.model import Model  # noqa: F401
from mindspore.train.serialization import (export, load_checkpoint, load_distributed_checkpoint,  # noqa: F401
                                           load_param_into_net, save_checkpoint)

__getattr__ = module_getattr(__name__, {
    "data_sink": "mindspore.train.data_sink", "LossScaleManager": "mindspore.train.loss_scale_manager",
    "FixedLossScaleManager": "mindspore.train.loss_scale_manager",
    "DynamicLossScaleManager": "mindspore.train.loss_scale_manager", "SummaryRecord": "mindspore.train.summary",
    "TrainFaultTolerance": "mindspore.train.callback", "History": "mindspore.train.callback",
    "LambdaCallback": "mindspore.train.callback", "ReduceLROnPlateau": "mindspore.train.callback",
    "BackupAndRestore": "mindspore.train.callback", "_get_merged_param_data": "mindspore.train.serialization",
    "DatasetHelper": "mindspore.train.dataset_helper"})
