"""Nobody else gets in: token, Host, Origin, policy, paths; and what the page may ask."""

import json

import pytest

from small_corpus import right


def api(page, name="progress"):
    return f"/{page.server.token}/api/{name}"


def test_it_listens_on_this_machine_only_and_the_address_has_a_secret(page):
    assert page.server._socket.getsockname()[0] == "127.0.0.1"
    assert page.address == f"{page.origin}/{page.server.token}/"
    assert len(page.server.token) >= 32


def test_the_page_and_its_files_are_ours_with_a_strict_policy(page):
    names = ["", "style.css", "drawings.css", "main.js", "question.js", "panel.js", "answers.js",
             "wire.js", "page.js", "icon.svg"]  # fmt: skip
    for name in names:
        status, headers, body = page.request(f"/{page.server.token}/{name}")
        assert status == 200, name
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        text = body.decode()
        for loaded in ("src=", "href=", "import ", "url("):
            assert f"{loaded}http" not in text.replace('"', "")
    page_itself = page.request(f"/{page.server.token}/")[2].decode()
    assert "<script>" not in page_itself
    assert "style=" not in page_itself


@pytest.mark.parametrize("token", ["", "x", "A" * 32, "..", "%2e%2e", "\u00e9"])
def test_without_the_token_there_is_nothing(page, token):
    from urllib.parse import quote

    for path in (f"/{quote(token)}/", f"/{quote(token)}/main.js", f"/{quote(token)}/api/progress"):
        status, _, body = page.request(path, {} if "api" in path else None)
        assert status in (404, 405), path
        assert b"script" not in body


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "localhost:1", "evil.example:{port}", ""]
)
def test_another_host_is_refused(page, host):
    """As DNS rebinding would send it: the connection is ours, the name is not."""
    status, _, _ = page.request(api(page), {}, {"Host": host.format(port=page.server.port)})
    assert status in (400, 421)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", None]
)
def test_another_origin_is_refused(page, origin):
    given = None if origin is None else origin.format(port=page.server.port)
    assert page.request(api(page), {"tab": "a"}, {"Origin": given})[0] == 403
    if origin is not None:
        assert page.request(f"/{page.server.token}/", None, {"Origin": given})[0] == 403


def test_a_page_of_another_site_cannot_even_load_our_files(page):
    headers = {"Origin": None, "Sec-Fetch-Site": "cross-site"}
    assert page.request(f"/{page.server.token}/main.js", None, headers)[0] == 403


@pytest.mark.parametrize(
    "path",
    ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", "__init__.py", "server.py",
     "..%5c..%5csecret", "page/main.js", "index.html"],
)  # fmt: skip
def test_no_path_from_the_browser_is_opened(page, path):
    assert page.request(f"/{page.server.token}/{path}")[0] == 404


def test_only_json_of_a_moderate_size_is_read(page):
    assert page.request(api(page), {}, {"Content-Type": "text/plain"})[0] == 415
    assert page.request(api(page), {"x": "y" * 2**21})[0] == 422
    assert page.request(api(page), [1])[0] == 422
    assert page.request(api(page, "nothing"), {})[0] == 404
    assert page.request(api(page), None, method="PUT")[0] in (404, 405)


@pytest.mark.parametrize(
    "name, body",
    [
        ("answer", {"id": "1", "sentence": 99, "values": [[0, "tag", "DET"]], "seconds": 1}),
        ("answer", {"id": "1", "sentence": -1, "values": [[0, "tag", "DET"]], "seconds": 1}),
        ("answer", {"id": "1", "sentence": 0, "values": [[0, "tag", "NOPE"]], "seconds": 1}),
        ("answer", {"id": "1", "sentence": 0, "values": [[99, "tag", "DET"]], "seconds": 1}),
        ("answer", {"id": "1", "sentence": "0", "values": [], "seconds": 1}),
        ("answer", {"id": "1", "sentence": 0, "values": 3, "seconds": 1}),
        ("answer", {"sentence": 0}),
        ("skip", {"id": "1", "sentence": 0, "words": [99]}),
        ("opened", {"sentence": 0, "first": 3, "last": 99}),
        ("view", {"sentence": 0, "first": 3, "last": 99, "values": []}),
        ("view", {"sentence": 0, "first": 0, "last": 1, "values": [[7, "tag", "DET"]]}),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(page, name, body):
    status, _, data = page.request(api(page, name), {"tab": "a", **body})
    assert status == 422
    assert json.loads(data)["problem"]
    assert page.call("progress")["asked"] == 0


def test_a_sitting_through_the_interface(page, sitting):
    question = page.call("question")
    assert sitting.is_ready("a")
    rows = [[word, kind, value] for (word, kind), value in right(question).items()]
    body = {"id": "one", "sentence": question["sentence"], "values": rows, "seconds": 1.5}
    assert page.call("answer", **body)["saved"]
    assert page.call("answer", **body)["again"]
    assert page.call("progress")["asked"] == len(rows)
    first = {name: question[name] for name in ("sentence", "first", "last")}
    moved = page.call("view", **first, values=rows[:1])
    assert "<svg" in moved["drawing"]
    assert "<style" not in moved["drawing"]
    assert page.call("answers", search="")["n_answers"] == len(rows)
    assert page.call("undo", id="two")["undone"] is not None
    assert page.call("progress")["asked"] == 0
    assert page.call("opened", sentence=0)["last"] == 3
    assert page.call("about")["task"] == "tags"
