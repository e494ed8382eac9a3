"""Child players: processes that the referee starts, with frames on pipes or streams and the same verdicts as others."""
