"""The process in which a submission runs: started clean, confined, asked over a socket."""
