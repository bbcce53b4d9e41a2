"""Judges a whole class: reads an export, grades every submission once, sums up what came out."""
