"""What one construct() recorded: a second run of the same code, for the other side of a branch, goes over it."""
import bisect


class NodeLog:
    """What one construct() recorded, in order. A log within another one passes everything on.

    What a later run adds stands where it was added, in front of what earlier runs did behind that point: the code behind
    a branch is the same on both sides.
    """

    def __init__(self, outer):
        self.outer = outer
        self.updating_sides = 0  # runs that recorded updates of an optimizer
        self.updates = 0         # of the first run that are no optimizer's
        self.has_more = self.has_less = False  # a later run had more of those, or fewer
        self._entries = []       # of earlier runs
        self._places = {}        # key -> indices of its entries
        self._new = []           # of this run: (index of the entry in front of which it stands, key, answer)
        self._at = 0

    def rewind(self):
        """Begins another run."""
        self._at = 0
        if not self._new:
            return
        merged, done = [], 0
        for at, key, answer in self._new:
            merged += self._entries[done:at]
            merged.append((key, answer))
            done = at
        self._entries, self._new, self._places = merged + self._entries[done:], [], {}
        for index, (key, _) in enumerate(self._entries):
            self._places.setdefault(key, []).append(index)

    def next(self, key):
        """The answer to a request that an earlier run made at this point; None if this one is new.

        What a remembered call answers is not asked for again: requests in between are passed over.
        """
        places = self._places.get(key, ())
        index = bisect.bisect_left(places, self._at)
        if index < len(places):
            self._at = places[index] + 1
            return self._entries[places[index]][1]
        answer = self.outer.next(key) if self.outer is not None else None
        if answer is not None:
            self._new.append((self._at, key, answer))
        return answer

    def append(self, key, answer):
        self._new.append((self._at, key, answer))
        if self.outer is not None:
            self.outer.append(key, answer)
