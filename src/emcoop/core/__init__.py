"""Value types, errors, seeds, strict configuration and the registry. Imports nothing else of emcoop."""
