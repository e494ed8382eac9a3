"""The classes that an author uses: a bot, and its errors."""
