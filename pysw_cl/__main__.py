"""``python -m pysw_cl`` and the command ``pysw-cl``."""

import sys

from .cli.ending import prepare


def main() -> int:
    """Run the command.  What signals do is settled before it imports more."""
    prepare()
    from .cli.main import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
