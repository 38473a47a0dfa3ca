"""Decodes Kubernetes' protobuf encoding, which Go clients send for the built-in kinds."""

from traincrew.embedded.apiserver.protobuf.envelope import MEDIA_TYPE as MEDIA_TYPE
from traincrew.embedded.apiserver.protobuf.envelope import decode as decode
