"""``python -m pysw_cl`` and the command ``pysw-cl``."""

import atexit
import gc
import sys


def main() -> int:
    """Run the command.  What signals do is settled before it imports more."""
    try:
        from .cli.ending import leave, prepare

        prepare()
        gc.set_threshold(50_000)  # imports make many objects and no garbage
    except KeyboardInterrupt:
        sys.stderr.write("pysw-cl: interrupted\n")
        return 130
    from .cli.main import main as run

    code = run()
    atexit.register(leave, code)
    return code


if __name__ == "__main__":
    sys.exit(main())
