"""AWS_MSK_IAM: the payload, its signature, and the sources of credentials.

The tests compute the signature by the steps of Amazon's README, without botocore.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
    SSLError,
)
from botocore.session import Session

from kafka_protocol.auth.aws_msk_iam import AwsMskIam
from kafka_protocol.auth.mechanism import Conversation
from kafka_protocol.errors import AuthenticationError, BrokerConnectionError, KafkaConfigError

HOST = "b-1.demo.abc123.c2.kafka.eu-west-1.amazonaws.com"
ACCESS_KEY = "AKIDEXAMPLE"
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


pytestmark = pytest.mark.usefixtures("aws", "an_environment")


@pytest.fixture
def an_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys in the environment, no region, no files, and no network requests."""
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)


def payload_of(conversation: AwsMskIam) -> dict[str, str]:
    payload = json.loads(conversation.first())
    assert isinstance(payload, dict)
    return payload


def signature_of(payload: dict[str, str], region: str, secret_key: str) -> str:
    """Signature version 4 of a presigned GET without a body."""
    names = {
        "action": "Action",
        "x-amz-algorithm": "X-Amz-Algorithm",
        "x-amz-credential": "X-Amz-Credential",
        "x-amz-date": "X-Amz-Date",
        "x-amz-expires": "X-Amz-Expires",
        "x-amz-security-token": "X-Amz-Security-Token",
        "x-amz-signedheaders": "X-Amz-SignedHeaders",
    }
    query = "&".join(
        f"{name}={quote(payload[key], safe='-_.~')}"
        for key, name in names.items()
        if key in payload
    )
    nothing = hashlib.sha256(b"").hexdigest()
    request = f"GET\n/\n{query}\nhost:{payload['host']}\n\nhost\n{nothing}"
    date = payload["x-amz-date"]
    scope = [date[:8], region, "kafka-cluster", "aws4_request"]
    hashed = hashlib.sha256(request.encode()).hexdigest()
    to_sign = f"AWS4-HMAC-SHA256\n{date}\n{'/'.join(scope)}\n{hashed}"
    key = f"AWS4{secret_key}".encode()
    for part in [*scope, to_sign]:
        key = hmac.new(key, part.encode(), "sha256").digest()
    return key.hex()


def test_payload_and_signature() -> None:
    payload = payload_of(AwsMskIam(HOST))
    signature = payload.pop("x-amz-signature")
    assert signature == signature_of(payload, "eu-west-1", SECRET_KEY)
    date = payload["x-amz-date"][:8]
    assert payload == {
        "version": "2020_10_22",
        "host": HOST,
        "user-agent": "pykafka",
        "action": "kafka-cluster:Connect",
        "x-amz-algorithm": "AWS4-HMAC-SHA256",
        "x-amz-credential": f"{ACCESS_KEY}/{date}/eu-west-1/kafka-cluster/aws4_request",
        "x-amz-date": payload["x-amz-date"],
        "x-amz-signedheaders": "host",
        "x-amz-expires": "900",
    }


def test_session_token_is_signed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "a+token/with=signs")
    payload = payload_of(AwsMskIam(HOST))
    assert payload["x-amz-security-token"] == "a+token/with=signs"
    assert payload["x-amz-signature"] == signature_of(payload, "eu-west-1", SECRET_KEY)


def test_profile(tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text(
        "[other]\naws_access_key_id = OTHER\naws_secret_access_key = other-key\n"
    )
    payload = payload_of(AwsMskIam(HOST, profile="other"))
    assert payload["x-amz-credential"].startswith("OTHER/")
    assert payload["x-amz-signature"] == signature_of(payload, "eu-west-1", "other-key")


# --- The region ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "given", "region"),
    [
        (HOST, None, "eu-west-1"),
        (HOST, "us-west-2", "us-west-2"),
        ("boot-abc.c1.kafka-serverless.us-east-1.amazonaws.com", None, "us-east-1"),
        ("b-1.demo.abc123.c2.kafka.cn-north-1.amazonaws.com.cn", None, "cn-north-1"),
        ("broker.private", None, "ap-south-1"),
    ],
)
def test_region(monkeypatch: pytest.MonkeyPatch, host: str, given: str | None, region: str) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-south-1")
    credential = payload_of(AwsMskIam(host, region=given))["x-amz-credential"]
    assert f"/{region}/kafka-cluster/" in credential


def test_no_region() -> None:
    with pytest.raises(KafkaConfigError, match=r"broker\.private contains no region"):
        AwsMskIam("broker.private").first()


@pytest.mark.parametrize("host", ["", "evil/?x=", "a@b", "[::1]", "a\nb"])
def test_invalid_hosts(host: str) -> None:
    with pytest.raises(KafkaConfigError, match="is not a host name"):
        AwsMskIam(host, region="eu-west-1").first()


# --- A role --------------------------------------------------------------------------------------


class Sts:
    """STS with one call, because the real one needs an account."""

    def __init__(self) -> None:
        self.request: dict[str, str] = {}
        self.region = ""
        self.closed = False
        self.refusal: Exception | None = None

    def create_client(self, service: str, *, region_name: str, config: Any) -> Sts:
        assert service == "sts"
        assert config.connect_timeout + config.read_timeout <= 10
        assert config.retries["total_max_attempts"] <= 3
        self.region = region_name
        return self

    def assume_role(self, **request: str) -> dict[str, dict[str, str]]:
        self.request = request
        if self.refusal is not None:
            raise self.refusal
        return {
            "Credentials": {
                "AccessKeyId": "ROLE",
                "SecretAccessKey": "role-key",
                "SessionToken": "role-token",
            }
        }

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def sts(monkeypatch: pytest.MonkeyPatch) -> Sts:
    fake = Sts()
    monkeypatch.setattr(Session, "create_client", fake.create_client)
    return fake


@pytest.mark.parametrize(("given", "name"), [(None, "pykafka"), ("etl", "etl")])
def test_role(sts: Sts, given: str | None, name: str) -> None:
    conversation = AwsMskIam(HOST, role_arn="arn:aws:iam::1:role/r", role_session_name=given)
    payload = payload_of(conversation)
    assert sts.request == {"RoleArn": "arn:aws:iam::1:role/r", "RoleSessionName": name}
    assert sts.region == "eu-west-1"
    assert sts.closed
    assert payload["x-amz-credential"].startswith("ROLE/")
    assert payload["x-amz-security-token"] == "role-token"
    assert payload["x-amz-signature"] == signature_of(payload, "eu-west-1", "role-key")


def test_role_refused(sts: Sts) -> None:
    sts.refusal = ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "AssumeRole")
    with pytest.raises(AuthenticationError, match="AccessDenied") as caught:
        AwsMskIam(HOST, role_arn="arn:aws:iam::1:role/r").first()
    assert caught.value.__cause__ is sts.refusal
    assert sts.closed


@pytest.mark.parametrize(
    "error",
    [
        EndpointConnectionError(endpoint_url="https://sts.invalid"),
        ConnectTimeoutError(endpoint_url="https://sts.invalid"),
        ReadTimeoutError(endpoint_url="https://sts.invalid"),
        SSLError(endpoint_url="https://sts.invalid", error="expired"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_unreachable_sts_can_be_retried(sts: Sts, error: BotoCoreError) -> None:
    sts.refusal = error
    with pytest.raises(
        BrokerConnectionError, match=r"AWS cannot be reached: .*sts\.invalid"
    ) as caught:
        AwsMskIam(HOST, role_arn="arn:aws:iam::1:role/r").first()
    assert caught.value.retriable


# --- Missing credentials and libraries -----------------------------------------------------------


@pytest.mark.parametrize(
    ("missing", "reason"),
    [
        (("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "no AWS credentials were found"),
        (("AWS_SECRET_ACCESS_KEY",), "Partial credentials"),
    ],
    ids=["all", "half"],
)
def test_missing_credentials(
    monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...], reason: str
) -> None:
    for name in missing:
        monkeypatch.delenv(name)
    with pytest.raises(AuthenticationError, match=reason):
        AwsMskIam(HOST).first()


def test_unknown_profile() -> None:
    with pytest.raises(KafkaConfigError, match=r"profile \(nobody\) could not be found"):
        AwsMskIam(HOST, profile="nobody").first()


def test_without_botocore(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.exceptions", None)
    with pytest.raises(KafkaConfigError, match=r"pip install 'pyspark-pykafka\[msk\]'"):
        AwsMskIam(HOST).first()


# --- The end -------------------------------------------------------------------------------------


def test_accepted() -> None:
    conversation: Conversation = AwsMskIam(HOST)
    conversation.first()
    states = [conversation.is_done]
    assert conversation.respond(b'{"version":"2020_10_22","request-id":"x"}') is None
    assert [*states, conversation.is_done] == [False, True]
    assert conversation.respond(b"") is None
    with pytest.raises(AuthenticationError, match="after the end of the exchange"):
        conversation.respond(b"more")


def test_accepted_without_a_request_id() -> None:
    conversation = AwsMskIam(HOST)
    conversation.first()
    with pytest.raises(AuthenticationError, match="without a request id"):
        conversation.respond(b"")
    assert not conversation.is_done
