"""softmargin against its peers: one module per topic, one adapter per peer, one table out.

``python -m benchmarks [TOPIC ...] [--quick]`` runs the topics (all by default) and rewrites their sections of
``benchmarks/RESULTS.md``. A topic is a module of this package with functions marked ``@contest`` (a race at equal
objective) or ``@table`` (a table of numbers that are not times).
"""
