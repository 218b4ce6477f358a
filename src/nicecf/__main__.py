"""``python -m nicecf``."""

import sys

from nicecf.cli import main

sys.exit(main())
