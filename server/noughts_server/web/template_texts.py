"""How templates get their texts: those without numbers are in the code of the template, which each language has."""

import re
from collections.abc import Callable, Iterator

from jinja2 import Environment, nodes
from jinja2.ext import InternationalizationExtension
from jinja2.lexer import Token, TokenStream
from jinja2.parser import Parser
from markupsafe import Markup, escape

from noughts_server.core.messages import ENGLISH, Language

_PARTS = re.compile(r"%\((\w+)\)s|(%)%")
"""A value of a text, or a percent sign."""


def use_language(templates: Environment, language: Language) -> None:
    """Translate the texts of these templates, `{% trans %}` and the functions `_`, `ngettext` and `pgettext`."""
    templates.globals["language"] = language
    templates.globals.update(_functions(language))
    templates.policies["ext.i18n.trimmed"] = True
    templates.add_extension(_Texts)
    templates.newstyle_gettext = True  # type: ignore[attr-defined]


def _functions(language: Language) -> dict[str, Callable[..., Markup]]:
    """Return the functions for texts with values. They escape values; the texts of catalogues can have HTML."""
    translations = language.translations

    def gettext(message: str, /, **values: object) -> Markup:
        return _filled(translations.gettext(message), values)

    def ngettext(one: str, many: str, number: int, /, **values: object) -> Markup:
        return _filled(translations.ngettext(one, many, number), values)

    def pgettext(context: str, message: str, /, **values: object) -> Markup:
        return _filled(translations.pgettext(context, message), values)

    return {"_": gettext, "gettext": gettext, "ngettext": ngettext, "pgettext": pgettext}


def _filled(text: str, values: dict[str, object]) -> Markup:
    # `Markup(text) % values` does the same in several times the time.
    return Markup(text % {name: escape(value) for name, value in values.items()})  # noqa: S704  # escaped


class _Texts(InternationalizationExtension):
    """Translates texts when a template is compiled, so that a page takes no longer than one without translation."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        """Replace `_("...")` and `pgettext("...", "...")` by their texts."""
        translations = self._language.translations
        tokens = list(stream)
        at = 0
        while at < len(tokens):
            token = tokens[at]
            kinds = [each.type for each in tokens[at : at + 6]]
            if token.test("name:_") and kinds[1:4] == ["lparen", "string", "rparen"]:
                yield Token(token.lineno, "string", translations.gettext(tokens[at + 2].value) % {})
                at += 4
            elif token.test("name:pgettext") and kinds[1:] == ["lparen", "string", "comma", "string", "rparen"]:
                text = translations.pgettext(tokens[at + 2].value, tokens[at + 4].value)
                yield Token(token.lineno, "string", text % {})
                at += 6
            else:
                yield token
                at += 1

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        """Replace `{% trans %}` by its text and its values."""
        parsed = super().parse(parser)
        *assignments, output = parsed if isinstance(parsed, list) else [parsed]
        assert isinstance(output, nodes.Output)
        (call,) = output.nodes
        assert isinstance(call, nodes.Call)
        return [*assignments, self._compiled(call) or output]

    @property
    def _language(self) -> Language:
        language = self.environment.globals["language"]
        assert isinstance(language, Language)
        return language

    def _compiled(self, call: nodes.Call) -> nodes.Node | None:
        """Return the text of a call of `gettext`, `pgettext` or `ngettext` with its values.

        Return None if a function of the language must choose the form for a number.
        """
        assert isinstance(call.node, nodes.Name)
        values = {pair.key: pair.value for pair in call.kwargs}
        texts = [argument.value for argument in call.args if isinstance(argument, nodes.Const)]
        if call.node.name == "gettext":
            return self._output(self._language.translations.gettext(texts[0]), values, call.lineno)
        if call.node.name == "pgettext":
            return self._output(self._language.translations.pgettext(*texts), values, call.lineno)
        if self._language is not ENGLISH:
            return None
        one, many = (self._output(text, values, call.lineno) for text in texts)
        is_one = nodes.Compare(call.args[-1], [nodes.Operand("eq", nodes.Const(1))])
        return nodes.If(is_one, [one], [], [many], lineno=call.lineno)

    def _output(self, text: str, values: dict[str, nodes.Expr], lineno: int) -> nodes.Output:
        found: list[nodes.Expr] = []
        before = 0
        for match in _PARTS.finditer(text):
            found.append(nodes.TemplateData(text[before : match.start()]))
            found.append(values[match[1]] if match[1] else nodes.TemplateData("%"))
            before = match.end()
        found.append(nodes.TemplateData(text[before:]))
        return nodes.Output(found, lineno=lineno)
