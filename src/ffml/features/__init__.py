"""Columns learned from earlier tasks."""
