"""Which schemas an answer can be checked against, what fits them, and that no check takes for ever."""

from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from referencing.exceptions import Unresolvable

from activities.output_schema import misfit, refusal


def of(**keywords):
    return {"type": "object", **keywords}


def field(schema):
    return of(properties={"a": schema})


CHOICE = [{"$ref": "#"}, {"$ref": "#"}]


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(of(), id="anything"),
        pytest.param(field({"$ref": "#"}), id="a tree"),
        pytest.param(of(properties={"a": {"$ref": "#/$defs/b~1c"}}, **{"$defs": {"b/c": True}}), id="a definition"),
        pytest.param(
            of(definitions={"b": {}}, properties={"a": {"$ref": "#/definitions/b"}}), id="an older definition"
        ),
        pytest.param(field({"type": "string", "pattern": r"^\p{L}+$"}), id="a pattern"),
        pytest.param(of(**{"$schema": "https://json-schema.org/draft/2020-12/schema"}), id="a named dialect"),
        pytest.param(
            of(properties={"patternProperties": {"type": "string"}}), id="a field that is called like a keyword"
        ),
        pytest.param(of(default={"$ref": "http://a.test"}), id="a default that looks like a reference"),
    ],
)
def test_a_schema_that_can_be_used_is_taken(schema):
    assert refusal(schema) is None


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        pytest.param(of(required="a"), "required: is not what", id="a keyword with another value"),
        pytest.param(of(items=[{}]), "items: is not what", id="an older dialect's list"),
        pytest.param(field({"$ref": "http://127.0.0.1:9/x"}), "properties.a.$ref: should name", id="an address"),
        pytest.param(field({"$ref": "file:///etc/passwd"}), "properties.a.$ref: should name", id="a file"),
        pytest.param(
            field({"$ref": "#/$defs/b"}), "properties.a.$ref: should name", id="a definition that is not there"
        ),
        pytest.param(field({"enum": [{}], "$ref": "#/properties/a/enum/0"}), "$ref: should name", id="a value"),
        pytest.param(field({"pattern": "(?=a)b"}), "properties.a.pattern: should be", id="look-around"),
        pytest.param(field({"pattern": "("}), "properties.a.pattern: should be", id="half a pattern"),
        pytest.param(of(patternProperties={"a": {}}), "patternProperties: cannot be used", id="patterns of names"),
        pytest.param(of(**{"$id": "http://a.test"}), "$id: cannot be used", id="an address of its own"),
        pytest.param(field({"$schema": "x"}), "properties.a.$schema: cannot be used", id="a dialect inside"),
        pytest.param(of(**{"$ref": "#"}), "refers to itself without end", id="itself"),
        pytest.param(
            of(**{"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}}),
            "refers to itself without end",
            id="each other",
        ),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_with_its_place(schema, where):
    assert where in refusal(schema)


def test_a_refusal_shows_names_and_no_values():
    assert "MARKER" not in refusal(field({"type": "MARKER"}))


PERSON = of(
    properties={
        "name": {"type": "string", "minLength": 1, "pattern": "^[A-Z]"},
        "tags": {"items": {"$ref": "#/$defs/t"}},
    },
    required=["name"],
    additionalProperties=False,
    **{"$defs": {"t": {"enum": ["a", "b"]}}},
)


@pytest.mark.parametrize("text", ['{"name": "Ada"}', ' {"name":"Ada","tags":["a","b"]}\n'])
def test_an_answer_that_fits_is_taken(text):
    assert misfit(PERSON, text) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Ada", "it is not JSON"),
        ('{"name": "Ada"', "it is not JSON"),
        ('{"name": "Ada"} as you asked', "it is not JSON"),
        ('{"name": NaN}', "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ('"Ada"', "type is not met"),
        ("{}", "name: is missing"),
        ('{"name": "ada"}', "name: pattern is not met"),
        ('{"name": "Ada", "age": 3}', "additionalProperties is not met"),
        ('{"name": "Ada", "tags": ["a", "c"]}', "tags.1: enum is not met"),
    ],
)
def test_an_answer_that_does_not_fit_is_told_by_its_place_and_keyword(text, why):
    assert misfit(PERSON, text) == why


def test_a_pattern_that_backtracks_for_ever_elsewhere_is_checked_at_once():
    schema = field({"type": "string", "pattern": "^(a+)+$"})
    assert misfit(schema, f'{{"a": "{"a" * 5_000}b"}}') == "a: pattern is not met"


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        pytest.param(
            of(properties={"a": {"anyOf": CHOICE}}, required=["a"]),
            '{"a":' * 60 + "1" + "}" * 60,
            id="choices that double with every level of the answer",
        ),
        pytest.param(
            of(
                **{"$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)} | {"d60": {}}},
                **{"$ref": "#/$defs/d0"},
            ),
            "{}",
            id="references that double with every definition",
        ),
    ],
)
def test_a_check_that_would_never_end_is_given_up(schema, text):
    assert refusal(schema) is None
    assert misfit(schema, text) == "it is nested too deeply to be checked"


class SchemaServer(BaseHTTPRequestHandler):
    """Serves a schema that everything fits."""

    def do_GET(self):
        self.server.asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        """Say nothing."""


def test_a_reference_that_came_past_the_check_is_never_fetched():
    """The library by itself would fetch it."""
    with HTTPServer(("127.0.0.1", 0), SchemaServer) as server:
        server.asked = []
        Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(Unresolvable):
            misfit(field({"$ref": f"http://127.0.0.1:{server.server_port}/x"}), '{"a": 1}')
        server.shutdown()
        assert server.asked == []
