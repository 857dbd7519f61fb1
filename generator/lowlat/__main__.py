# SPDX-License-Identifier: GPL-2.0-or-later
"""``python -m lowlat`` and the console script lowlat-gen."""

import sys


def main() -> int:
    try:
        from lowlat import cli  # imported here, so that Ctrl-C prints no traceback from the start
    except KeyboardInterrupt:
        return 130
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
