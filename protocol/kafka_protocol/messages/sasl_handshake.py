"""SaslHandshake (key 17): choose a SASL mechanism. KIP-43; KIP-152 (v1).

After v0 the tokens go over the connection as bare frames, after v1 inside SaslAuthenticate. A
v2 cannot come: clients below 2.5 would take it for one they know (KAFKA-9577).
"""

from kafka_protocol.wire.schema import MAX_ELEMENTS, Request, Response, field, int16, string


class SaslHandshakeResponse(Response, api_key=17, versions="0-1"):
    """The mechanisms of the listener, also with an error."""

    # UNSUPPORTED_SASL_MECHANISM: not one of `mechanisms`; the broker closes the connection.
    # ILLEGAL_SASL_STATE: not the time for it, for example on a listener without SASL.
    error_code: int16 = field()
    mechanisms: list[string] = field(at_most=MAX_ELEMENTS)


class SaslHandshakeRequest(Request, api_key=17, versions="0-1", response=SaslHandshakeResponse):
    """The mechanism's registered name, for example SCRAM-SHA-512."""

    mechanism: string = field()
