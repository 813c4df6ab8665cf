"""CUBE: agents push blocks of different weights into the goal column (paper, appendix H). See README.md."""
