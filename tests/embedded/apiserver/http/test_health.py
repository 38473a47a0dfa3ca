"""/livez, /readyz and /healthz: the checks of the API server, in the format of kube-apiserver."""

from __future__ import annotations

from tests.embedded.apiserver.http.running_cluster import RunningApi
from tests.embedded.apiserver.storage.disk_failures import file_size_limit

READY = "[+]ping ok\n[+]storage ok\n[+]metadata-controllers ok\n[+]controllers ok\nreadyz check passed\n"


async def get(api: RunningApi, path: str) -> tuple[int, str]:
    async with api.http.get(path) as response:
        return response.status, await response.text()


async def test_verbose_lists_the_checks(api: RunningApi) -> None:
    assert await get(api, "/readyz") == (200, "ok")
    assert await get(api, "/readyz?verbose") == (200, READY)
    assert await get(api, "/livez?verbose") == (200, "[+]ping ok\nlivez check passed\n")
    assert await get(api, "/healthz?verbose=1") == (200, "[+]ping ok\nhealthz check passed\n")


async def test_each_check_has_a_path_of_its_own(api: RunningApi) -> None:
    assert await get(api, "/readyz/controllers") == (200, "ok")
    for path in ("/livez/controllers", "/readyz/none", "/readyz/", "/readyz/ping/x"):
        assert await get(api, path) == (404, "404 page not found\n"), path


async def test_excluded_checks_do_not_run_and_unknown_ones_are_reported(api: RunningApi) -> None:
    status, text = await get(api, "/readyz?verbose&exclude=storage&exclude=b&exclude=a")
    warning = 'warn: some health checks cannot be excluded: no matches for "a","b"\n'
    expected = READY.replace("storage ok", "storage excluded: ok").replace("readyz check", f"{warning}readyz check")
    assert (status, text) == (200, expected)


async def test_a_full_disk_fails_the_check_of_the_storage_until_writes_succeed_again(api: RunningApi) -> None:
    namespace = {"metadata": {"name": "a", "annotations": {"a": "x" * 200_000}}}
    with file_size_limit(api.control_plane.options.data) as relieve:
        while True:
            async with api.http.post("/api/v1/namespaces", json=namespace | {"metadata": {"generateName": "a-"}}) as response:
                if response.status != 201:
                    break
        status, text = await get(api, "/readyz")
        assert (status, text) == (
            500,
            READY.replace("[+]storage ok", "[-]storage failed: reason withheld").replace("passed", "failed"),
        )
        assert await get(api, "/livez") == (200, "ok")
        assert await get(api, "/readyz?exclude=storage") == (200, "ok")
        status, text = await get(api, "/readyz/storage")
        assert status == 500
        assert text.startswith("internal server error: ")
        assert "cannot be written" in text
        relieve()
    async with api.http.post("/api/v1/namespaces", json=namespace) as response:
        assert response.status == 201
    assert await get(api, "/readyz") == (200, "ok")
