"""The release of MindSpore that scripts see."""
from mindspore._drydock.session import session

NEWEST = "2.10.0"


def in_force():
    """That of --compat, else the installed one, else the newest known."""
    return session.compat + ".0" if session.compat else session.release or NEWEST


def at_least(major, minor):
    """Whether it is MAJOR.MINOR or newer."""
    return tuple(int(part) for part in in_force().split(".")[:2]) >= (major, minor)
