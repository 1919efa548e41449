"""Operations on data sets that few scripts use, and those that act on a running pipeline, which a dry run does not have."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.session import session
from mindspore.dataset import rows
from mindspore.dataset.engine import lengths


class MoreOperations:
    """What Dataset has beside the operations of most scripts."""

    def __getattr__(self, name):
        from mindspore._drydock import lazy, names
        if not name.startswith("_") and names.has_method("mindspore.dataset.Dataset", name):
            return lazy.Stub("mindspore.dataset.Dataset." + name)
        error = AttributeError("'%s' object has no attribute '%s'" % (type(self).__name__, name))
        error.drydock_hint = "" if name.startswith("_") else names.nearest(("mindspore.dataset.Dataset",), name)
        raise error

    # -- rows ---------------------------------------------------------------------------------------
    def concat(self, datasets):
        """The rows of all data sets, one data set behind the other; all have the same columns."""
        others = list(datasets) if isinstance(datasets, (tuple, list)) else [datasets]
        for other in others:
            if not isinstance(other, MoreOperations):
                raise user_error(TypeError, "concat:type", "concat() takes data sets, not %s" % type(other).__name__)
            if other._names != self._names:
                raise user_error(RuntimeError, "concat:columns", "concat() of data sets with the columns %s and %s"
                                 % (self._names, other._names))
        sizes = [self._size] + [other._size for other in others]
        if all(isinstance(size, lengths.Known) for size in sizes):
            return self._derive(_size=lengths.Known(sum(size.rows for size in sizes)))
        return self._derive(_size=lengths.Changed(lambda limit: min(limit, sum(size.up_to(limit) for size in sizes))))

    def __add__(self, datasets):
        return self.concat(datasets)

    def apply(self, apply_func):
        made = apply_func(self)
        if not isinstance(made, MoreOperations):
            raise user_error(TypeError, "apply:result", "the function of apply() must give a data set, not %s" % type(made).__name__)
        return made

    def padded_batch(self, batch_size, drop_remainder=False, num_parallel_workers=None, pad_info=None):
        """batch() of rows that are filled up to the shapes of pad_info."""
        source = self
        for name, entry in (pad_info or {}).items():
            column, shape = self._column(name), entry[0] if isinstance(entry, (tuple, list)) else None
            if shape is not None:
                if len(shape) != len(column.shape):
                    raise user_error(RuntimeError, "padded_batch:rank", "pad_info gives '%s' %d dimensions, its rows have %d"
                                     % (name, len(shape), len(column.shape)))
                filled = tuple(own if wanted is None else wanted for own, wanted in zip(column.shape, shape))
                source = source._replace([name], [name], [rows.Column(filled, column.dtype)])
        return source.batch(batch_size, drop_remainder)

    def bucket_batch_by_length(self, column_names, bucket_boundaries, bucket_batch_sizes, element_length_function=None,
                               pad_info=None, pad_to_bucket_boundary=False, drop_remainder=False):
        """Batches of rows of a like length: here of the longest rows, whose batch is the largest in most networks."""
        if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
            raise user_error(ValueError, "bucket_batch_by_length:sizes", "%d boundaries make %d buckets, but there are %d batch sizes"
                             % (len(bucket_boundaries), len(bucket_boundaries) + 1, len(bucket_batch_sizes)))
        session.warn_limit("bucket_batch_by_length(): every batch is taken to have the shape of one of the first row's bucket",
                           at_line=True)
        names = [column_names] if isinstance(column_names, str) else list(column_names)
        length = max(((self._column(name).shape or (1,))[0] for name in names), default=1)
        bucket = sum(1 for boundary in bucket_boundaries if length >= boundary)
        if pad_to_bucket_boundary and pad_info and bucket < len(bucket_boundaries):
            last = bucket_boundaries[bucket] - 1
            pad_info = {name: ([last if item is None else item for item in entry[0]] if entry[0] is not None else None, entry[1])
                        for name, entry in pad_info.items()}
        size = min(bucket_batch_sizes[bucket], max(self._size.up_to(bucket_batch_sizes[bucket]), 1))
        return self.padded_batch(size, drop_remainder, pad_info=pad_info)

    def num_classes(self):
        return None

    def get_class_indexing(self):
        return {}

    # -- a running pipeline -------------------------------------------------------------------------
    def sync_wait(self, condition_name, num_batch=1, callback=None):
        return self

    def sync_update(self, condition_name, num_batch=None, data=None):
        return None

    def disable_sync(self):
        return None

    def device_que(self, send_epoch_end=True, create_data_info_queue=False, queue_name=""):
        return self

    def save(self, file_name, num_files=1, file_type="mindrecord"):
        session.warn("data sets are not written in a dry run")

    def get_init_step(self):
        return 0

    def is_shuffled(self):
        return False

    def is_sharded(self):
        return False
