"""Linear features, dense and sparse."""
