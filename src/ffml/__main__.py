"""``python -m ffml`` is the command line."""

from ffml.cli import main

main()
