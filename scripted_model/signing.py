"""Proofs that a block of thinking came from this server and from which model, unchanged."""

import base64
import hashlib
import hmac

import msgspec
from msgspec import Struct


class Sealed(Struct, frozen=True):
    """What an encrypted reasoning item says about itself."""

    model: str
    id: str
    mac: str


class Signer:
    """Signs thinking with a secret; nothing is remembered, so a restarted server still checks."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()

    def _mac(self, *parts: str) -> str:
        data = b"\x00".join(part.encode("utf-8", errors="surrogatepass") for part in parts)
        return base64.b64encode(hmac.digest(self._secret, data, hashlib.sha256)).decode()

    def sign(self, model: str, text: str) -> str:
        """The signature of a thinking block."""
        return self._mac("thinking", model, text)

    def is_signed(self, model: str, text: str, signature: str) -> bool:
        """Whether exactly `text` was thought by `model`."""
        return hmac.compare_digest(self.sign(model, text).encode(), signature.encode())

    def redact(self, model: str, text: str) -> str:
        """An opaque block that only this server can tell to be its own."""
        mac = self._mac("redacted", model, text)
        hidden = base64.b64encode(text.encode("utf-8", errors="replace")).decode()
        return f"{mac}.{hidden}"

    def is_redacted(self, model: str, data: str) -> bool:
        """Whether `data` was made by `redact` for `model`."""
        try:
            text = base64.b64decode(data.partition(".")[2], validate=True).decode()
        except ValueError:
            return False
        return hmac.compare_digest(self.redact(model, text).encode(), data.encode())

    def seal(self, model: str, identifier: str, text: str) -> str:
        """`encrypted_content` of a reasoning item with this id and summary."""
        sealed = Sealed(model, identifier, self._mac("sealed", model, identifier, text))
        return base64.urlsafe_b64encode(msgspec.json.encode(sealed)).decode()

    def is_sealed(self, model: str, identifier: str, text: str, proof: str) -> bool:
        """Whether the item with this id and summary is unchanged and of this model.

        An item may be sent back without its id; then the id inside the proof counts.
        """
        try:
            sealed = msgspec.json.decode(base64.urlsafe_b64decode(proof), type=Sealed)
        except ValueError:
            return False
        if identifier and identifier != sealed.id:
            return False
        return sealed.model == model and hmac.compare_digest(
            self._mac("sealed", model, sealed.id, text).encode(), sealed.mac.encode()
        )
