"""``python -m pysw_cl`` and the command ``pysw-cl``."""

import sys


def main() -> int:
    """Run the command.  What signals do is settled before it imports more."""
    try:
        from .cli.ending import prepare

        prepare()
    except KeyboardInterrupt:
        sys.stderr.write("pysw-cl: interrupted\n")
        return 130
    from .cli.main import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
