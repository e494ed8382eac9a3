"""Faults that are put into the code one at a time, to find out which tests notice them."""
