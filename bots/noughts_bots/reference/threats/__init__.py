"""`threats`: alpha-beta and a search of forcing threats, in a module for each part. `bot` has the bot."""
