"""Colours that follow the visitor's choice of a theme instead of the device.

Style sheets say what is dark only for devices: `@media (prefers-color-scheme: dark) { :root { ... } }`. `theme.js` sets
`data-theme` of the page to `light`, `dark` or `auto`.
"""

import re

_DARK = re.compile(r"@media \(prefers-color-scheme: dark\) \{\n  :root \{\n(.*?)\n  \}\n\}\n", re.DOTALL)


def with_theme_switch(style: str) -> str:
    """Return the style sheet with its dark colours for pages that are dark by choice, not for those that are light."""

    def rules(match: re.Match[str]) -> str:
        colours = match[1]
        device = f'@media (prefers-color-scheme: dark) {{\n  :root:not([data-theme="light"]) {{\n{colours}\n  }}\n}}\n'
        # Paper is white.
        return f'{device}@media not print {{\n  :root[data-theme="dark"] {{\n{colours}\n  }}\n}}\n'

    return _DARK.sub(rules, style)
