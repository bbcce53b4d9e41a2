"""Source that is nested too deeply to be compiled."""

eval("(" * 100_000 + ")" * 100_000)
