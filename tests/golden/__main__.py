"""`python -m tests.golden`: compare; `python -m tests.golden write`: write anew."""

import sys

from tests.golden.golden import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
