"""What an author writes: a bot, with its errors."""
