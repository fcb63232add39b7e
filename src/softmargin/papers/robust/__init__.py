"""Feng, Yang, Huang, Mehrkanoon & Suykens (2016): robust support vector classification by smooth nonconvex losses."""
