"""``python -m sqlalchemy_spanner_queues``."""

import sys

from .cli import main

sys.exit(main())
