"""How many rows a data set has, found out only as far as somebody asks.

A source with a length says it. A generator function must be run: batch(8) asks whether it gives 8 rows, so the network sees
[8, ...], and get_dataset_size() asks for all of them. Operations change what is asked of the source: 3 batches of 8 are
asked for as 24 rows. Source: mindspore/python/mindspore/dataset/engine/datasets.py (get_dataset_size runs the pipeline).
"""
from mindspore._drydock.session import session

MAX_COUNTED = 65536  # rows that are counted at most; a generator may never end


class Known:
    """A number of rows."""

    def __init__(self, rows):
        self.rows = rows

    def up_to(self, limit):
        return min(self.rows, limit)


class Counted:
    """The rows that an iterator still gives, and those that were taken from it before."""

    def __init__(self, iterator, taken):
        self.rows = taken
        self._iterator = iterator

    def up_to(self, limit):
        while self.rows < limit and self._iterator is not None:
            try:
                next(self._iterator)
                self.rows += 1
            except StopIteration:
                self._iterator = None
        return min(self.rows, limit)


class Changed:
    """The rows after an operation: `up_to(limit)` asks its source for what it needs."""

    def __init__(self, up_to):
        self.up_to = up_to


def total(length):
    """All rows, MAX_COUNTED of them if they have to be counted."""
    if isinstance(length, Known):
        return length.rows
    rows = length.up_to(MAX_COUNTED)
    if rows == MAX_COUNTED:
        session.warn("a data set gives %d rows or more; it is taken to have %d" % (MAX_COUNTED, MAX_COUNTED))
    return rows


def at_least(length, count):
    """All rows where their number is known; else those that `count` asks for."""
    return length.rows if isinstance(length, Known) else length.up_to(count)


def after(length, change, needed):
    """Rows after an operation: `change(rows)` of the source's, of which `needed(limit)` decide about the first `limit`."""
    if isinstance(length, Known):
        return Known(change(length.rows))
    return Changed(lambda limit: min(limit, change(length.up_to(needed(limit)))))


def shared(length, num_shards):
    """The rows of one of `num_shards` ranks, the last ones filled up."""
    return after(length, lambda rows: -(-rows // num_shards), lambda limit: limit * num_shards)


def at_most(length, count):
    return after(length, lambda rows: min(rows, count), lambda limit: min(limit, count))
