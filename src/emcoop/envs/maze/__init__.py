"""The split maze (The Collaboration Gap, arXiv 2511.02687): everybody sees a part of one maze; moves need agreement."""
