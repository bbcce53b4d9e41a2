"""The checks of every lab, one folder each, and the oracle that knows the right values."""
