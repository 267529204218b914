"""AWS_MSK_IAM: Amazon MSK's mechanism, a signed request as JSON.

The README of github.com/aws/aws-msk-iam-auth describes the payload. botocore (the extra `msk`)
finds credentials and signs; it does its own I/O and reads the clock itself.
"""

from __future__ import annotations

import json
import re
from contextlib import closing
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

from kafka_protocol.auth.mechanism import check_no_more, shown
from kafka_protocol.errors import AuthenticationError, BrokerConnectionError, KafkaConfigError

if TYPE_CHECKING:
    from botocore.credentials import ReadOnlyCredentials
    from botocore.session import Session

_MISSING: Final = "AWS_MSK_IAM needs botocore: pip install 'pyspark-pykafka[msk]'"
_SERVICE: Final = "kafka-cluster"
_PAYLOAD_VERSION: Final = "2020_10_22"
_USER_AGENT: Final = "pykafka"
# The lifetime of the signature, as in Amazon's own library.
_LIFETIME_S: Final = 900
# STS responds in well under a second; botocore's default is a minute, and five attempts.
_STS_TIMEOUT_S: Final = 5
_STS_ATTEMPTS: Final = 3

_HOST: Final = re.compile(r"[A-Za-z0-9.-]+")
# b-1.demo.abc123.c2.kafka.eu-west-1.amazonaws.com, boot-x.c1.kafka-serverless.us-east-1...
_REGION: Final = re.compile(r".+\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?")


class AwsMskIam:
    """One AWS_MSK_IAM conversation.

    Credentials are looked up each time, so they are never expired.

    Args:
        host: The broker's host name, a part of the signed text.
        region: The cluster's region; by default from the host name, else from AWS's settings.
        profile: A profile of AWS's configuration files; by default AWS's default chain.
        role_arn: A role to assume with STS.
        role_session_name: The session name for CloudTrail.
    """

    def __init__(
        self,
        host: str,
        region: str | None = None,
        profile: str | None = None,
        role_arn: str | None = None,
        role_session_name: str | None = None,
    ) -> None:
        self._host = host
        self._region = region
        self._profile = profile
        self._role_arn = role_arn
        self._role_session_name = role_session_name or _USER_AGENT
        self.is_done = False

    def first(self) -> bytes:
        """The signed payload.

        Raises:
            AuthenticationError: No credentials were found, or STS refused the role.
            BrokerConnectionError: AWS is not reachable.
            KafkaConfigError: botocore is missing, or profile, region or host is wrong.
        """
        try:
            from botocore.exceptions import (
                BotoCoreError,
                ClientError,
                HTTPClientError,
                ProfileNotFound,
            )
            from botocore.exceptions import ConnectionError as AwsConnectionError
            from botocore.session import Session
        except ImportError as error:
            raise KafkaConfigError(_MISSING) from error
        if not _HOST.fullmatch(self._host):
            raise KafkaConfigError(f"AWS_MSK_IAM: {shown(self._host)!r} is not a host name")
        try:
            session = Session(profile=self._profile)
            region = self._region_of(session)
            return _signed_payload(self._host, region, self._credentials(session, region))
        except ProfileNotFound as error:
            raise KafkaConfigError(f"AWS_MSK_IAM: {error}") from error
        except (HTTPClientError, AwsConnectionError) as error:
            raise BrokerConnectionError(f"AWS_MSK_IAM: AWS cannot be reached: {error}") from error
        except (BotoCoreError, ClientError, RuntimeError) as error:  # the last: credentials expired
            raise AuthenticationError(f"no AWS credentials: {error}") from error

    def respond(self, challenge: bytes) -> None:
        """Read the server's request id, which means success.

        Raises:
            AuthenticationError: It is empty, or followed by another token.
        """
        if self.is_done:
            check_no_more(challenge)
        elif not challenge:
            raise AuthenticationError("the broker accepted without a request id")
        self.is_done = True

    def _region_of(self, session: Session) -> str:
        named = _REGION.fullmatch(self._host)
        region = self._region or (named[1] if named else session.get_config_variable("region"))
        if not region:
            raise KafkaConfigError(
                f"AWS_MSK_IAM: host name {self._host} contains no region; set AWS_DEFAULT_REGION"
            )
        return str(region)

    def _credentials(self, session: Session, region: str) -> ReadOnlyCredentials:
        from botocore.config import Config
        from botocore.credentials import ReadOnlyCredentials

        credentials = session.get_credentials()
        if credentials is None:
            raise AuthenticationError(
                "no AWS credentials were found in the environment, in AWS's files, or from the "
                "machine's role"
            )
        if self._role_arn is None:
            return credentials.get_frozen_credentials()
        limits = Config(
            connect_timeout=_STS_TIMEOUT_S,
            read_timeout=_STS_TIMEOUT_S,
            retries={"total_max_attempts": _STS_ATTEMPTS},
        )
        with closing(session.create_client("sts", region_name=region, config=limits)) as sts:
            role = sts.assume_role(RoleArn=self._role_arn, RoleSessionName=self._role_session_name)
        given = role["Credentials"]
        return ReadOnlyCredentials(
            given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"]
        )


def _signed_payload(host: str, region: str, credentials: ReadOnlyCredentials) -> bytes:
    from botocore.auth import SigV4QueryAuth
    from botocore.awsrequest import AWSRequest

    request = AWSRequest("GET", f"https://{host}/", params={"Action": "kafka-cluster:Connect"})
    SigV4QueryAuth(credentials, _SERVICE, region, expires=_LIFETIME_S).add_auth(request)
    signed = parse_qsl(urlsplit(request.url).query)
    payload = {name.lower(): value for name, value in signed}
    payload |= {"version": _PAYLOAD_VERSION, "host": host, "user-agent": _USER_AGENT}
    return json.dumps(payload).encode()
