"""The classes that an author uses: bots and their errors."""
