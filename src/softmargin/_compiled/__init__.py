"""The few hot loops, compiled ahead of time; they know arrays, never losses."""
