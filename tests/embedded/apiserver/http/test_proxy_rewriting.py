"""Paths of proxied requests, and links in their responses."""

from __future__ import annotations

import html.parser
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traincrew.embedded.apiserver.streams import html_links, proxy_urls

PREFIX = "/api/v1/namespaces/ns/pods/web:80/proxy"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PREFIX, ""),
        (f"{PREFIX}/", "/"),
        (f"{PREFIX}/a/b/", "/a/b/"),
        (f"{PREFIX}//a", "/a"),
        (f"{PREFIX}/a/../../b", "/b"),
        (f"{PREFIX}/%2e%2e/%2e%2e", "/"),
        (f"{PREFIX}/a%2Fb", "/a/b"),
        (f"{PREFIX}/%ff%0d%0a", "/%FF%0D%0A"),
    ],
)
def test_the_path_stays_below_the_root_of_the_pod(path: str, expected: str) -> None:
    assert proxy_urls.of_request(path) == (PREFIX, expected)


@given(st.text(alphabet="/.a%2eEfF\r\n ü", max_size=20))
def test_no_path_leads_out_of_the_pod(rest: str) -> None:
    path = proxy_urls.of_request(f"{PREFIX}/{rest}").path
    assert path.startswith("/")
    assert not {"..", ".", ""} & set(path.strip("/").split("/")) or path == "/"
    assert path.isascii()
    assert path.isprintable()
    assert " " not in path


REWRITER = proxy_urls.LinkRewriter(PREFIX, ("10.0.0.1:80", "server:6443"))


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("/x", f"{PREFIX}/x"),
        ("/x/?a=b#c", f"{PREFIX}/x/?a=b#c"),
        ("/", f"{PREFIX}/"),
        ("x", "x"),
        ("", ""),
        ("#top", "#top"),
        ("mailto:a@b.example", "mailto:a@b.example"),
        ("//other.example/x", "//other.example/x"),
        ("http://10.0.0.1:80/x", f"{PREFIX}/x"),
        ("https://server:6443/x", f"https://server:6443{PREFIX}/x"),
        (f"{PREFIX}/x", f"{PREFIX}/x"),
    ],
)
def test_links_to_the_pod_lead_through_the_proxy(link: str, expected: str) -> None:
    assert REWRITER.rewrite(link) == expected


def rewritten(*pieces: str) -> str:
    stream = html_links.LinkStream(REWRITER.rewrite)
    return "".join(stream.feed(piece) for piece in pieces) + stream.end()


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<A HREF=/x>", f'<A HREF="{PREFIX}/x">'),
        ("<a href = '/x?a&amp;b'>", f'<a href = "{PREFIX}/x?a&amp;b">'),
        ("<a title='>' href='/x'/>", f"<a title='>' href=\"{PREFIX}/x\"/>"),
        ("<a name=/x>", "<a name=/x>"),
        ("<a\nhref\n=\n/x\n>", f'<a\nhref\n=\n"{PREFIX}/x"\n>'),
        ("<!-- <a href=/x> --><!doctype a href=/x>", "<!-- <a href=/x> --><!doctype a href=/x>"),
        ("<textarea><a href=/x></textarea >", "<textarea><a href=/x></textarea >"),
        (
            "<script>'</scripty><a href=/x>'</SCRIPT><a href=/x>",
            f"<script>'</scripty><a href=/x>'</SCRIPT><a href=\"{PREFIX}/x\">",
        ),
        ("a < b <3 <a href=/x", "a < b <3 <a href=/x"),
        ("<a href='http://[x/'>", "<a href='http://[x/'>"),
    ],
)
def test_links_of_pages(page: str, expected: str) -> None:
    assert rewritten(page) == expected
    assert rewritten(*page) == expected


PIECES = (
    "<a href='/x'>",
    "<a href=/y z>",
    "<script src=/s>",
    "</script>",
    "<!--",
    "-->",
    "<",
    ">",
    '"',
    "'",
    "text ",
    "</a>",
    "<!",
    "<p/>",
)


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.integers(1, 7))
def test_a_page_is_rewritten_alike_however_it_is_cut(pieces: list[str], size: int) -> None:
    page = "".join(pieces)
    assert rewritten(*(page[at : at + size] for at in range(0, len(page), size))) == rewritten(page)


class _Links(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in html_links.LINKS.get(tag, ())]


def test_a_parser_finds_the_rewritten_links() -> None:
    page = "".join(f'<{tag} {name}="/x&lt;">' for tag, names in html_links.LINKS.items() if tag != "iframe" for name in names)
    parser = _Links()
    parser.feed(rewritten(page.replace('<script src="/x&lt;">', '<script src="/x&lt;"></script>')))
    assert set(parser.found) == {f"{PREFIX}/x<"}


def test_a_tag_without_an_end_is_not_kept() -> None:
    stream = html_links.LinkStream(REWRITER.rewrite)
    page = "<a " + "x" * (3 * html_links.MAX_TAG)
    assert len(stream.feed(page)) > len(page) - html_links.MAX_TAG - 3


@pytest.mark.parametrize(
    "piece", ["<a", "</", "<!", "<!--", "<a '\"", "<script", "<script>", "<a ='", "<", "<a x>", "-", "<a \"'>"]
)
@pytest.mark.parametrize("size", [1, 1000, 100_000])
def test_no_page_is_read_twice(piece: str, size: int) -> None:
    stream = html_links.LinkStream(REWRITER.rewrite)
    page = (piece * 100_000)[:100_000]
    written = "".join(stream.feed(page[at : at + size]) for at in range(0, len(page), size)) + stream.end()
    assert written == page
    assert stream.read < 2 * len(page) + 20 * len(page) // size, "a search may begin some characters before the new text"


@pytest.mark.parametrize("piece", ["x", "x" * 8000 + " " * 8000, "a=", "a='", "/", "href=&", "href=&#1", "href="])
def test_the_attributes_of_a_tag_are_read_once(piece: str) -> None:
    tag = "<a " + (piece * html_links.MAX_TAG)[: html_links.MAX_TAG - 5]
    started = time.thread_time()
    for _ in range(6):
        assert len(rewritten(tag, ">")) >= len(tag)
    assert time.thread_time() - started < 0.5, "a page of 100 kB"


def test_a_number_of_any_length_in_a_link_passes() -> None:
    page = f"<a href='&#{'9' * 5000};'>"
    assert rewritten(page) == page
