"""Matrices of episodes: cells times seeds, played into one run folder, resumable by content."""
