"""`python -m drydock.paddle_launch`: the flags of `python -m paddle.distributed.launch`, run by `drydock paddle-launch`.

The scripts are run by this interpreter unless --python names another one.
"""

import os
import sys

from . import DryRunError, program


def main(arguments):
    try:
        path = program()[0]
    except DryRunError as error:
        print("drydock.paddle_launch: error[%s]: %s" % (error.code, error), file=sys.stderr)
        return 3
    folder, name = os.path.split(path)
    if name == "msrun":  # of DRYDOCK_MSRUN: the program stands beside it
        path = os.path.join(folder, "drydock")
    words = [path, "paddle-launch", "--python=" + sys.executable, *arguments]
    try:
        os.execv(path, words)
    except OSError as error:
        print("drydock.paddle_launch: error[NO_PROGRAM]: %s: %s" % (path, error.strerror), file=sys.stderr)
    return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
