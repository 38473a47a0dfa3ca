"""The keys and certificates of a test cluster: one authority that signs the server's and the clients'."""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
SERVER_ADDRESSES = ("127.0.0.1", "10.96.0.1")
"""The second is the Service `kubernetes`, as pods call it."""


class Authority:
    """Writes NAME.crt and NAME.key files into its directory; its own certificate is ca.crt."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _subject("traincrew-test-ca", ())
        draft = _draft(self._name, self._name, self._key.public_key())
        draft = draft.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self.path = directory / "ca.crt"
        self.path.write_bytes(_pem(draft.sign(self._key, hashes.SHA256())))

    def server(self, name: str) -> tuple[Path, Path]:
        addresses = [x509.IPAddress(ipaddress.ip_address(each)) for each in SERVER_ADDRESSES]
        names = [x509.DNSName(host) for host in SERVER_NAMES]
        alternatives = x509.SubjectAlternativeName([*names, *addresses])
        return self._issue(name, _subject(name, ()), [alternatives, _usage(ExtendedKeyUsageOID.SERVER_AUTH)])

    def client(self, user: str, *groups: str) -> tuple[Path, Path]:
        return self._issue(user, _subject(user, groups), [_usage(ExtendedKeyUsageOID.CLIENT_AUTH)])

    def _issue(self, name: str, subject: x509.Name, extensions: list[x509.ExtensionType]) -> tuple[Path, Path]:
        key_path = write_key(self._directory / f"{name}.key")
        key = serialization.load_pem_private_key(key_path.read_bytes(), password=None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        draft = _draft(subject, self._name, key.public_key())
        for extension in extensions:
            draft = draft.add_extension(extension, critical=False)
        certificate = self._directory / f"{name}.crt"
        certificate.write_bytes(_pem(draft.sign(self._key, hashes.SHA256())))
        return certificate, key_path


def write_key(path: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    form = serialization.PrivateFormat.TraditionalOpenSSL
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return path


def _subject(name: str, groups: tuple[str, ...]) -> x509.Name:
    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name), *organizations])


def _draft(subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=30))
    )


def _usage(purpose: x509.ObjectIdentifier) -> x509.ExtendedKeyUsage:
    return x509.ExtendedKeyUsage([purpose])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
