"""Bots that were written for other places, as they are: PettingZoo, OpenSpiel, Kaggle ConnectX, arrays of numpy."""
