"""What `noughts bot check` asks of a bot, and the trial of a submitted one."""
