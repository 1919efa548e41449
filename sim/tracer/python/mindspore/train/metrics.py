"""Metrics: they see stand-in values and answer zero."""
import sys

from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session


class Metric:
    """Base of all metrics."""

    def __init__(self, *args, **kwargs):
        self._indexes = None

    @property
    def indexes(self):
        return self._indexes

    def set_indexes(self, indexes):
        self._indexes = indexes
        return self

    def clear(self):
        return None

    def update(self, *inputs):
        return None

    def eval(self):
        session.read_zeros = True
        return 0.0


def _metric(name):
    return type(name, (Metric,), {"__module__": __name__, "__doc__": "See mindspore.train.%s." % name})


Accuracy, BleuScore, ConfusionMatrix, ConfusionMatrixMetric, CosineSimilarity, Dice, F1, Fbeta = map(_metric, (
    "Accuracy", "BleuScore", "ConfusionMatrix", "ConfusionMatrixMetric", "CosineSimilarity", "Dice", "F1", "Fbeta"))
HausdorffDistance, Loss, MAE, MSE, MeanSurfaceDistance, OcclusionSensitivity, Perplexity, Precision = map(_metric, (
    "HausdorffDistance", "Loss", "MAE", "MSE", "MeanSurfaceDistance", "OcclusionSensitivity", "Perplexity", "Precision"))
ROC, Recall, RootMeanSquareDistance, Top1CategoricalAccuracy, Top5CategoricalAccuracy, TopKCategoricalAccuracy = map(_metric, (
    "ROC", "Recall", "RootMeanSquareDistance", "Top1CategoricalAccuracy", "Top5CategoricalAccuracy",
    "TopKCategoricalAccuracy"))


def auc(x, y, reorder=False):
    """Area under a curve: zero, as all metrics."""
    return 0.0


def rearrange_inputs(func):
    """Decorator of update(): the inputs in the order of set_indexes()."""
    def wrapper(self, *inputs):
        return func(self, *(inputs if self.indexes is None else [inputs[i] for i in self.indexes]))
    return wrapper


_BY_NAME = {
    "F1": F1, "acc": Accuracy, "accuracy": Accuracy, "auc": auc, "bleu_score": BleuScore, "confusion_matrix": ConfusionMatrix,
    "confusion_matrix_metric": ConfusionMatrixMetric, "cosine_similarity": CosineSimilarity, "dice": Dice,
    "hausdorff_distance": HausdorffDistance, "loss": Loss, "mae": MAE, "mean_surface_distance": MeanSurfaceDistance,
    "mse": MSE, "occlusion_sensitivity": OcclusionSensitivity, "perplexity": Perplexity, "precision": Precision,
    "recall": Recall, "roc": ROC, "root_mean_square_distance": RootMeanSquareDistance,
    "top_1_accuracy": Top1CategoricalAccuracy, "top_5_accuracy": Top5CategoricalAccuracy, "topk": TopKCategoricalAccuracy}


def names():
    return sorted(_BY_NAME)


def get_metric_fn(name, *args, **kwargs):
    """The metric of a name; KeyError for others."""
    if name not in _BY_NAME:
        from mindspore._drydock.errors import user_error
        raise user_error(KeyError, "get_metric_fn:name", "there is no metric '%s'" % (name,), "one of: %s" % ", ".join(names()))
    return _BY_NAME[name](*args, **kwargs)


def get_metrics(metrics):
    """The metrics of Model: a dict as it is, a set of names as their metrics."""
    if metrics is None or isinstance(metrics, dict):
        return metrics
    return {name: get_metric_fn(name) for name in metrics}


metric = sys.modules[__name__]  # mindspore.train.metrics.metric

__getattr__ = module_getattr("mindspore.train")
