"""``python -m emcoop`` is the program `emcoop`."""

from emcoop.cli import main

main()
