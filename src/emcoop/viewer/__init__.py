"""The viewer: a run's log as a page that a person can walk around in (docs/viewer.md).

`pages` reads a log in bounded pieces, `frames` draws the world at a step, `server` serves both with the page itself
from ``static/``, and `export` writes all of it into one file that needs no server.
"""
