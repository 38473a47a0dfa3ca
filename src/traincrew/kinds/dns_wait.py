"""Init containers that wait until the name of another replica resolves, and the operator flags that configure them."""

from __future__ import annotations

import dataclasses

from traincrew.kinds.option import Option
from traincrew.kinds.replica import Manifest, Replica

SCRIPT = """if ! command -v nslookup >/dev/null; then
  echo "nslookup: not found in the image of this container. Set the operator's flag --{flag} to an image that has it."
  exit 127
fi
i=0
while [ "$i" -lt {tries} ]; do
  if nslookup {master} >/dev/null 2>&1; then exit 0; fi
  i=$((i + 1))
  echo "waiting for master {master} ($i of {tries})"
  sleep 2
done
echo "{master} does not resolve: is its Service there, and does cluster DNS work?"
exit 1"""


@dataclasses.dataclass(frozen=True)
class DnsWait:
    container: str
    """Name of the init container."""
    flags: str
    """Common prefix of the operator's flags."""
    former_image_flag: str = ""
    public_image: str = "alpine:3.10"
    """The image if the operator does not know its own."""
    tries: str = "100"

    @property
    def options(self) -> tuple[Option, ...]:
        template_help = "file with a YAML list of containers to use instead"
        return (
            Option(
                f"{self.flags}-image",
                "",
                "image with sh and nslookup for the container that waits until the master's name resolves. Default: --init-image",
                former_flag=self.former_image_flag,
            ),
            Option(f"{self.flags}-template-file", "/etc/config/initContainer.yaml", template_help, is_file=True),
            Option(
                f"{self.flags}-max-tries",
                self.tries,
                "maximum number of DNS lookups of the master's name, two seconds apart",
            ),
        )

    def containers(self, replica: Replica, master: str) -> list[Manifest]:
        options = replica.planning.options
        image = options.get(f"{self.flags}-image") or replica.planning.init_image or self.public_image
        tries = options.get(f"{self.flags}-max-tries") or self.tries
        if template := options.get(f"{self.flags}-template-file"):
            return _from_template(template, {"MasterAddr": master, "InitContainerImage": image, "MaxTries": tries})
        container = {
            "name": self.container,
            "image": image,
            "imagePullPolicy": "IfNotPresent",
            "resources": {
                "limits": {"cpu": "100m", "memory": "20Mi"},
                "requests": {"cpu": "50m", "memory": "10Mi"},
            },
            "command": ["sh", "-c", SCRIPT.format(master=master, tries=tries, flag=f"{self.flags}-image")],
        }
        return [container]


def _from_template(text: str, values: dict[str, str]) -> list[Manifest]:
    """The Go operator renders this file as a Go template; it uses plain fields only."""
    for field, value in values.items():
        text = text.replace("{{." + field + "}}", value).replace("{{ ." + field + " }}", value)
    import yaml  # few operators have such a file, and every command imports this module

    return list(yaml.load(text, yaml.CSafeLoader) or [])
