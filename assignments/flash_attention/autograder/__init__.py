"""Judges submissions: reads them (intake), runs them (worker), grades one or a whole class."""
