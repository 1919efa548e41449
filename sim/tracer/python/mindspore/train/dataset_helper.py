"""mindspore.train.dataset_helper: rows of a data set one after the other."""
from mindspore._drydock.lazy import module_getattr


class DatasetHelper:
    """Iterates over the rows as tuples; sinking changes nothing in a dry run."""

    def __init__(self, dataset, dataset_sink_mode=True, sink_size=-1, epoch_num=1):
        self._dataset, self._sink_size = dataset, sink_size

    def __iter__(self):
        return iter(self._dataset.create_tuple_iterator())

    def types_shapes(self):
        return self._dataset.output_types(), self._dataset.output_shapes()

    def sink_size(self):
        return self._sink_size if self._sink_size > 0 else self._dataset.get_dataset_size()

    def get_data_info(self):
        return self.types_shapes()

    def stop_send(self):
        """Nothing is sent."""

    release = continue_send = stop_send


def connect_network_with_dataset(network, dataset_helper):
    """The network: it takes its rows as arguments in a dry run."""
    return network


__getattr__ = module_getattr("mindspore.train")
