"""Several classes at once: k score functions that sum to zero, fitted together."""
