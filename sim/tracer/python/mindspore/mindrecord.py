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


SUCCESS, FAILED = "SUCCESS", "FAILED"


class MindRecordException(Exception):
    """Base of the errors of files of rows."""


def _error(name):
    return type(name, (MindRecordException,), {"__module__": __name__, "__doc__": "See mindspore.mindrecord.%s." % name})


_ERRORS = ("UnknownError", "ParamValueError", "ParamTypeError", "ParamMissError", "PathNotExistsError", "DbConnectionError", "MRMOpenError",
           "MRMOpenForAppendError", "MRMInvalidPageSizeError", "MRMInvalidHeaderSizeError", "MRMSetHeaderError", "MRMWriteDatasetError",
           "MRMCommitError", "MRMLaunchError", "MRMFinishError", "MRMCloseError", "MRMAddSchemaError", "MRMAddIndexError",
           "MRMBuildSchemaError", "MRMGetMetaError", "MRMIndexGeneratorError", "MRMGenerateIndexError", "MRMInitSegmentError",
           "MRMFetchCandidateFieldsError", "MRMReadCategoryInfoError", "MRMFetchDataError", "MRMInvalidSchemaError", "MRMValidateDataError",
           "MRMDefineIndexError", "MRMDefineBlobError", "MRMUnsupportedSchemaError", "MRMDefineCategoryError")
globals().update({name: _error(name) for name in _ERRORS})


class _Converter:
    """Other files as files of rows: none is read or written in a dry run."""

    def __init__(self, source, destination, *others, **settings):
        self.source, self.destination = source, destination
        session.warn("files of mindrecord are not written in a dry run")

    def run(self, fields=None):
        return SUCCESS

    transform = run


class ImageNetToMR(_Converter):
    """See mindspore.mindrecord.ImageNetToMR."""

    def __init__(self, map_file, image_dir, destination, partition_number=1):
        super().__init__(map_file, destination)
        self.image_dir = image_dir


Cifar10ToMR, Cifar100ToMR, CsvToMR, MnistToMR, TFRecordToMR = (
    type(name, (_Converter,), {"__module__": __name__, "__doc__": "See mindspore.mindrecord.%s." % name})
    for name in ("Cifar10ToMR", "Cifar100ToMR", "CsvToMR", "MnistToMR", "TFRecordToMR"))

__getattr__ = module_getattr(__name__)
