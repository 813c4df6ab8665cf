"""Speed, measured: every module has a `main` that prints figures beside their targets and returns them."""
