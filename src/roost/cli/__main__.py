"""`python -m roost.cli`: the same as the command `roost`."""

import sys

from roost.cli.main import main

sys.exit(main())
