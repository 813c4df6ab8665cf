"""From the episodes of a log to rows, tables and a report."""
