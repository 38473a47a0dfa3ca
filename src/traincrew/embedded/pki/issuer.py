"""Issues certificates. The only module that imports `cryptography`, which takes a tenth of a second."""

from __future__ import annotations

import dataclasses
import datetime
import ipaddress
from collections.abc import Iterable

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_NAME = "traincrew-ca"
AUTHORITY_LIFETIME = datetime.timedelta(days=3650)
LIFETIME = datetime.timedelta(days=365)
SKEW = datetime.timedelta(minutes=5)
"""Certificates are valid from a little earlier, for clients whose clock is behind."""


@dataclasses.dataclass(frozen=True)
class CertificateRequest:
    """The content of a certificate."""

    common_name: str
    organizations: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Subject alternative names: host names and addresses."""
    server: bool = False
    """A server certificate; else a client certificate."""


def authority(now: datetime.datetime, former: bytes = b"") -> tuple[bytes, bool]:
    """Key and certificate of an authority in one PEM, and whether the key is the former one's.

    The former key is kept if it is readable, so that certificates that it signed stay valid.
    """
    try:
        key, kept = _key_of(former), True
    except ValueError:
        key, kept = ec.generate_private_key(ec.SECP256R1()), False
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, AUTHORITY_NAME)])
    usage = _usage(digital_signature=True, key_cert_sign=True, crl_sign=True)
    builder = _builder(name, name, key.public_key(), (now, AUTHORITY_LIFETIME))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(usage, critical=True)
    return _pem(key, builder.sign(key, hashes.SHA256())), kept


def certificate(signed_by: bytes, order: CertificateRequest, now: datetime.datetime) -> bytes:
    """Key and certificate in one PEM file, so that they always match."""
    authority_key, key = _key_of(signed_by), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.load_pem_x509_certificate(signed_by)
    builder = _builder(_subject(order), issuer.subject, key.public_key(), (now, LIFETIME))
    purpose = ExtendedKeyUsageOID.SERVER_AUTH if order.server else ExtendedKeyUsageOID.CLIENT_AUTH
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(digital_signature=True), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    issued_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    builder = builder.add_extension(issued_by, critical=False)
    if order.names:
        builder = builder.add_extension(x509.SubjectAlternativeName(_alternatives(order.names)), critical=False)
    return _pem(key, builder.sign(authority_key, hashes.SHA256()))


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    life: tuple[datetime.datetime, datetime.timedelta],
) -> x509.CertificateBuilder:
    begin, length = life
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin - SKEW)
        .not_valid_after(begin + length)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _subject(order: CertificateRequest) -> x509.Name:
    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in order.organizations]
    return x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, order.common_name)])


def _alternatives(names: Iterable[str]) -> list[x509.GeneralName]:
    general_names: list[x509.GeneralName] = []
    for name in names:
        try:
            general_names.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            general_names.append(x509.DNSName(name))
    return general_names


def _usage(**set_ones: bool) -> x509.KeyUsage:
    every = (
        "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
        "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
    )  # fmt: skip
    return x509.KeyUsage(**{name: set_ones.get(name, False) for name in every})


def _key_of(pem: bytes) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pem, None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("not an elliptic-curve key")
    return key


def _pem(key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> bytes:
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return private + certificate.public_bytes(serialization.Encoding.PEM)
