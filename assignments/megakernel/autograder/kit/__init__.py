"""What a check is made of: students get this folder too, so nothing in it knows an answer."""
