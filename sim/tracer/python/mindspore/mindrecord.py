"""mindspore.mindrecord: files of rows are not written in a dry run."""
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session


class FileWriter:
    """Takes schema and rows, and writes nothing."""

    def __init__(self, file_name, shard_num=1, overwrite=False):
        self._file_name = file_name
        session.warn("files of mindrecord are not written in a dry run")

    @classmethod
    def open_for_append(cls, file_name):
        return cls(file_name)

    def add_schema(self, content, desc=None):
        return 0

    def add_index(self, index_fields):
        return 0

    def write_raw_data(self, raw_data, parallel_writer=False):
        return 0

    def set_header_size(self, header_size):
        return 0

    def set_page_size(self, page_size):
        return 0

    def commit(self):
        return 0


class FileReader:
    """The rows of files, as one example: columns of the form that the files say."""

    def __init__(self, file_name, num_consumer=4, columns=None, operator=None):
        from mindspore.dataset.engine import record_files
        found, self._count = record_files.read(file_name)
        self._columns = {name: found[name] for name in (columns or found)}

    def len(self):
        return self._count

    def schema(self):
        return {name: {"type": column.dtype.name, "shape": list(column.shape)} for name, column in self._columns.items()}

    def get_next(self):
        yield {name: column.value() for name, column in self._columns.items()}

    def close(self):
        return None


__getattr__ = module_getattr(__name__)
