"""Answers of endpoints in any shape of JSON: reading never fails, and each completion can be recorded."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_bots.language_models.answers import FORMS
from noughts_bots.language_models.completion import Completion, Failure, read_completion
from noughts_bots.language_models.record import Answer, Question, read_question
from noughts_bots.language_models.view import view_of
from noughts_referee.rules import Position, parse_variant

TICTACTOE = parse_variant("tictactoe")
CALL = {"id": "1", "type": "function", "function": {"name": "play", "arguments": '{"move": "b2"}'}}
USAGE = {"prompt_tokens": 100, "completion_tokens": 10}
VALID_ANSWER = {
    "choices": [{"message": {"content": '{"move": "b2"}', "refusal": None, "tool_calls": [CALL]}}],
    "usage": USAGE,
}

any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["text", 10**400]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "function", "message", "arguments", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def damaged_document(draw: st.DrawFn, document: Any) -> Any:
    """Return the document with some parts replaced, added or left out at random."""
    if draw(st.integers(0, 5)) == 0:
        return draw(any_json)
    if isinstance(document, dict):
        remaining = {key: draw(damaged_document(value)) for key, value in document.items() if draw(st.integers(0, 9))}
        return remaining | ({"error": draw(any_json)} if draw(st.integers(0, 9)) == 0 else {})
    return [draw(damaged_document(item)) for item in document] if isinstance(document, list) else document


@given(damaged_document(VALID_ANSWER), st.sampled_from(sorted(FORMS)))
def test_any_json_gives_a_completion_a_failure_or_nothing(document: Any, form: str) -> None:
    result = read_completion(json.loads(json.dumps(document)))
    if isinstance(result, Failure):
        assert result.status is None or 100 <= result.status <= 999
    if isinstance(result, Completion):
        text = FORMS[form].text_of(result)
        verdict = FORMS[form].judge(text, view_of(TICTACTOE, 7, scrambled=False), Position(TICTACTOE))
        answer = Answer(text, verdict.kind, 0.5, result.input_tokens, result.output_tokens)
        question = Question("m", form, 2, False, "", [answer], [], None)
        assert read_question(question.write()) == question
        json.loads(question.write().encode(), parse_constant=pytest.fail)


@pytest.mark.parametrize(
    "content, text",
    [
        ("b2", "b2"),
        (["b", "2"], "b2"),
        ([{"type": "text", "text": "b"}, {"type": "output_text", "text": {"text": "2"}}], "b2"),
        ([{"type": "thinking", "text": "a1?"}, {"type": "image_url"}, None, {"text": "b2"}], "b2"),
        ({"move": "b2"}, '{"move": "b2"}'),
        (None, ""),
        (7, ""),
    ],
)
def test_text_of_a_message_is_read_in_every_spelling(content: object, text: str) -> None:
    completion = read_completion({"choices": [{"message": {"content": content}}]})
    assert completion == Completion(text, (), None, None)


@pytest.mark.parametrize("tokens", [-1, 1e400, 2.5, True, "7", 10**15, None, [1]])
def test_impossible_numbers_of_tokens_are_unknown(tokens: object) -> None:
    completion = read_completion({**VALID_ANSWER, "usage": {"prompt_tokens": tokens, "completion_tokens": 0}})
    assert isinstance(completion, Completion)
    assert (completion.input_tokens, completion.output_tokens) == (None, 0)


def test_arguments_of_a_call_can_be_an_object() -> None:
    call = {"function": {"name": "play", "arguments": {"move": "b2"}}}
    completion = read_completion({"choices": [{"message": {"content": None, "tool_calls": [None, call]}}]})
    assert isinstance(completion, Completion)
    assert FORMS["tool"].text_of(completion) == '{"move": "b2"}'


def test_deep_lists_of_parts_have_no_text() -> None:
    content: object = "b2"
    for _ in range(900):
        content = [content]
    completion = read_completion({"choices": [{"message": {"content": content}}]})
    assert isinstance(completion, Completion)
    assert completion.text == ""
