"""Rules over a table: columns, bins, literals and coverage."""
