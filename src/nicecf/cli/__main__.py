"""``python -m nicecf.cli``."""

import sys

from nicecf.cli import main

sys.exit(main())
