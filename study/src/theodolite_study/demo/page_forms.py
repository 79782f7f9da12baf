"""Read the forms of participants' pages. Used by scripted people and by tests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class PageForm:
    """Form of a page: its address and its fields."""

    action: str
    id: str = ""
    hidden: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)
    """Values of radio buttons and lists, by name."""
    boxes: dict[str, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    """Names of fields that must be filled in."""
    required: set[str] = field(default_factory=set)
    """Names of choices that must be made."""


class FormReader(HTMLParser):
    """Reader of the forms of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.forms: list[PageForm] = []
        self.ticks: list[str] = []
        """Values of the consent form's boxes."""
        self._select = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a form or one of its fields."""
        values = {name: value or "" for name, value in attrs}
        if values.get("name") == "tick":
            self.ticks.append(values["value"])
        elif tag == "form":
            self.forms.append(PageForm(values["action"], values.get("id", "")))
        elif self.forms and tag == "select":
            self._select = values["name"]
            self.forms[-1].choices[self._select] = []
            if "required" in values:
                self.forms[-1].required.add(self._select)
        elif self.forms and tag == "textarea" and "required" in values:
            self.forms[-1].texts.append(values["name"])
        elif self.forms and tag == "input":
            self._note_input(self.forms[-1], values)

    def _note_input(self, form: PageForm, values: Mapping[str, str]) -> None:
        kind, name = values.get("type", "text"), values.get("name", "")
        if kind == "hidden":
            form.hidden[name] = values.get("value", "")
        elif kind == "radio":
            form.choices.setdefault(name, []).append(values["value"])
            if "required" in values:
                form.required.add(name)
        elif kind == "checkbox":
            form.boxes[name] = values["value"]
        elif "required" in values:
            form.texts.append(name)
