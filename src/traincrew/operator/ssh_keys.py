"""The SSH key pair with which a launcher reaches its workers."""

from __future__ import annotations

import base64


def keypair() -> dict[str, str]:
    """The data of a Secret of type kubernetes.io/ssh-auth, base64 as Secrets carry it."""
    # Imported here: few operators ever run a job that needs it, and it costs 10 MB.
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP521R1())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return {
        "ssh-privatekey": base64.b64encode(private).decode(),
        "ssh-publickey": base64.b64encode(public + b"\n").decode(),
    }
