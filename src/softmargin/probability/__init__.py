"""probability"""
