"""A process of `solving`: answers the questions on stdin, lines of JSON, until the end of stdin."""

import json
import sys

from noughts_server.local.solving import Question, answer


def main() -> None:
    for line in sys.stdin.buffer:
        variant, position, effort, nodes = json.loads(line)
        verdict = answer(Question(variant, position, effort=effort, nodes=nodes))
        sys.stdout.write(json.dumps(verdict) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
