"""Discovery of NVIDIA GPUs, and declared devices."""

from __future__ import annotations

import pathlib

import pytest

from traincrew.embedded.kubelet.devices import inventory
from traincrew.embedded.kubelet.devices.inventory import GPU, Device

UUIDS = ("GPU-11111111-aaaa-bbbb-cccc-000000000001", "GPU-22222222-aaaa-bbbb-cccc-000000000002")


@pytest.fixture
def driver(tmp_path: pathlib.Path) -> pathlib.Path:
    """The files of the driver for two GPUs. The first GPU on the bus has the second device file."""
    for bus, uuid, minor in (("0000:3b:00.0", UUIDS[0], 1), ("0000:af:00.0", UUIDS[1], 0)):
        directory = tmp_path / "proc/driver/nvidia/gpus" / bus
        directory.mkdir(parents=True)
        message = (
            f"Model: \t\t NVIDIA A100\nIRQ:   \t\t 30\nGPU UUID: \t {uuid}\nBus Location: \t {bus}\nDevice Minor: \t {minor}\n"
        )
        (directory / "information").write_text(message)
    (tmp_path / "dev").mkdir()
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / "dev" / name).touch()
    return tmp_path


def test_gpus_are_discovered_in_pci_bus_order_with_their_device_files(driver: pathlib.Path) -> None:
    discovered = inventory.discover({}, driver)
    assert discovered.counts == {GPU: 2}
    assert discovered.devices[GPU] == (Device(UUIDS[0], f"{driver}/dev/nvidia1"), Device(UUIDS[1], f"{driver}/dev/nvidia0"))
    assert discovered.files(GPU, (UUIDS[1],)) == (f"{driver}/dev/nvidia0", f"{driver}/dev/nvidiactl", f"{driver}/dev/nvidia-uvm")
    assert discovered.files(GPU, ()) == ()


def test_declared_numbers_override_discovered_devices(driver: pathlib.Path) -> None:
    assert inventory.discover({GPU: 1}, driver).devices[GPU] == (Device(UUIDS[0], f"{driver}/dev/nvidia1"),)
    assert [each.id for each in inventory.discover({GPU: 3}, driver).devices[GPU]] == [*UUIDS, "2"]
    assert inventory.discover({GPU: 0}, driver) == inventory.Inventory({}, {}, ())


def test_devices_without_a_driver_have_indexes_and_other_resources_are_counted_only(tmp_path: pathlib.Path) -> None:
    discovered = inventory.discover({GPU: 2, "nvidia.com/gpumem": 32768}, tmp_path)
    assert discovered.counts == {GPU: 2, "nvidia.com/gpumem": 32768}
    assert discovered.devices == {GPU: (Device("0"), Device("1"))}
    assert discovered.files(GPU, ("0",)) == ()


def test_a_gpu_without_a_uuid_is_identified_by_its_index(driver: pathlib.Path) -> None:
    file = driver / "proc/driver/nvidia/gpus/0000:3b:00.0/information"
    file.write_text("GPU UUID: \t GPU-????????-????-????-????-????????????\nDevice Minor: \t 1\n")
    assert inventory.discover({}, driver).devices[GPU][0] == Device("0", f"{driver}/dev/nvidia1")


def test_the_output_of_nvidia_smi_is_parsed() -> None:
    text = f"GPU 0: NVIDIA A100 (UUID: {UUIDS[0]})\n  MIG 1g.5gb Device 0: (UUID: MIG-x)\nGPU 1: T4 (UUID: {UUIDS[1]})\n"
    assert inventory.parse_nvidia_smi(text) == [("0", UUIDS[0]), ("1", UUIDS[1])]
