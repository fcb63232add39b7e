"""penalties"""
