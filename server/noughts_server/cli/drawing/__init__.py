"""What is shown in a terminal: boards, crosstables, standings, charts, heat maps, progress, a match's result; and
a learner's curve, which is a file.
"""
