"""`python -m histoeval` is `histoeval`."""

from histoeval.cli.main import main

if __name__ == "__main__":
    main()
