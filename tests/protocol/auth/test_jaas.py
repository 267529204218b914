"""sasl.jaas.config: the tokens of Java's tokenizer, and the resulting options."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.auth.jaas import JaasEntry, credentials_of, parse_jaas
from kafka_protocol.auth.secret import Secret
from kafka_protocol.errors import KafkaConfigError

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
MSK = "software.amazon.msk.auth.iam.IAMLoginModule"
KRB5 = "com.sun.security.auth.module.Krb5LoginModule"


def options_of(text: str) -> dict[str, str]:
    return dict(parse_jaas(f"a.B required {text};").options)


# --- Reading -------------------------------------------------------------------------------------


def test_login_module_with_options() -> None:
    text = f"{PLAIN} REQUIRED username=\"alice\" password='secret' ;"
    entry = parse_jaas(Secret(text))
    assert entry == JaasEntry(PLAIN, "required", {"username": "alice", "password": "secret"})
    assert entry == parse_jaas(text)


@pytest.mark.parametrize("flag", ["required", "Requisite", "SUFFICIENT", "optional"])
def test_control_flags(flag: str) -> None:
    assert parse_jaas(f"a.B {flag};") == JaasEntry("a.B", flag.lower(), {})


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", {}),
        ("a=b", {"a": "b"}),
        ("a = b\n\tc=d", {"a": "b", "c": "d"}),
        ("a=$ConnectionString", {"a": "$ConnectionString"}),
        ('a="b c=;/*\'"', {"a": "b c=;/*'"}),
        ("a='\"'", {"a": '"'}),
        ('a=""', {"a": ""}),
        ('"a b"="c"', {"a b": "c"}),
        ('a="b"c="d"', {"a": "b", "c": "d"}),
        ("a=b a=c", {"a": "c"}),
        (r'a="\"\\\'\q"', {"a": "\"\\'q"}),
        (r'a="\a\b\f\n\r\t\v"', {"a": "\a\b\f\n\r\t\v"}),
        (r'a="\0\101\1012\777\47x"', {"a": "\0AA2?7'x"}),
        ('a="line\\\nline"', {"a": "line\nline"}),
        ("// c=d;\n a=b /* ; \n */ #=e", {"a": "b", "#": "e"}),
        ("a=b/c\nd=e", {"a": "b", "d": "e"}),
        ("a=/**/b", {"a": "b"}),
        ("a=b /\nc=d\ne=f", {"a": "b", "e": "f"}),
        ("a=b-c_d$e.1", {"a": "b-c_d$e.1"}),
        ("a=b#c\\d!", {"a": "b#c\\d!"}),
        ("a='\N{SNOWMAN}' b=\N{SNOWMAN}", {"a": "\N{SNOWMAN}", "b": "\N{SNOWMAN}"}),
    ],
)
def test_tokens_equal_javas(text: str, options: dict[str, str]) -> None:
    assert options_of(text) == options


@given(
    st.dictionaries(st.text(min_size=1), st.text(st.characters(exclude_categories=["Cs"]))),
    st.sampled_from("\"'"),
)
def test_quoted_text_round_trip(options: dict[str, str], quote: str) -> None:
    def quoted(text: str) -> str:
        for character in ("\\", quote, "\n", "\r"):
            escaped = {"\n": "\\n", "\r": "\\r"}.get(character, f"\\{character}")
            text = text.replace(character, escaped)
        return quote + text + quote

    text = " ".join(f"{quoted(name)}={quoted(value)}" for name, value in options.items())
    assert options_of(text) == options


SECRET_PARTS = ["hunter2", "tr0ub4dor", "correct"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "lacks its semicolon"),
        ("hunter2", "lacks its semicolon"),
        ('a.B required password="hunter2"', "lacks its semicolon"),
        # Without quotes the slash begins a comment, which includes the semicolon.
        ("a.B required password=hunter2/tr0ub4dor;", "lacks its semicolon"),
        ("/* a.B required;", "lacks its semicolon"),
        ("/*/ a.B required;", "lacks its semicolon"),
        ("a.B required;;", "continues after its semicolon"),
        ('a.B required; hunter2 required password="tr0ub4dor";', "continues after its semicolon"),
        (";", "does not begin with"),
        ("hunter2;", "does not begin with"),
        ("hunter2 tr0ub4dor;", "does not begin with"),
        ('hunter2="tr0ub4dor" required;', "does not begin with"),
        ("KafkaClient { a.B required password=hunter2; };", "continues after its semicolon"),
        ('KafkaClient { a.B required password="hunter2";', "does not begin with"),
        ("a.B required password=hunter2 tr0ub4dor;", "an option without its value"),
        ("a.B required password hunter2;", "an option without its value"),
        ("a.B required password=;", "an option without its value"),
        ("a.B required password==hunter2;", "an option without its value"),
        ("a.B required =hunter2;", "an option without its value"),
        ('a.B required password="hunter2;', "a quote that is not closed on its line"),
        ("a.B required password='hunter2\n';", "a quote that is not closed on its line"),
        ('a.B required password="hunter2\\";', "a quote that is not closed on its line"),
        ("a.B required password=correct horse='hunter2", "a quote that is not closed"),
    ],
)
def test_fault_54_invalid_text(text: str, reason: str) -> None:
    with pytest.raises(KafkaConfigError) as caught:
        parse_jaas(text)
    message = str(caught.value)
    assert message.startswith("Option 'kafka.sasl.jaas.config' ")
    assert reason in message
    assert not [part for part in SECRET_PARTS if part in message]


@given(st.text() | st.text(st.sampled_from("a \"'\\=;/*\n")))
def test_any_text_gives_an_entry_or_an_error(text: str) -> None:
    try:
        parse_jaas(text)
        parse_jaas(f"a.B required {text};")
    except KafkaConfigError:
        pass


def test_fault_54_repr_shows_neither_module_nor_options() -> None:
    entry = parse_jaas("hunter2 required password=tr0ub4dor;")
    assert repr(entry) == "JaasEntry(control_flag='required')"


# --- Meaning -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "mechanism", "credentials"),
    [
        (
            f'{PLAIN} required username="$ConnectionString" password="Endpoint=sb://x/;Key=y=";',
            "PLAIN",
            {"sasl.username": "$ConnectionString", "sasl.password": "Endpoint=sb://x/;Key=y="},
        ),
        (
            f"kafkashaded.{SCRAM} required username=u password=p;",
            "SCRAM-SHA-256",
            {"sasl.username": "u", "sasl.password": "p"},
        ),
        (
            f"{SCRAM} required username=id password=hmac tokenauth=true;",
            "SCRAM-SHA-512",
            {"sasl.username": "id", "sasl.password": "hmac", "sasl.scram.tokenauth": "true"},
        ),
        (
            f"{OAUTH} required clientId=c clientSecret=s scope='a b' extension_logicalCluster=lkc-1"
            " extension_identityPoolId=pool-1;",
            "OAUTHBEARER",
            {
                "sasl.oauthbearer.client.id": "c",
                "sasl.oauthbearer.client.secret": "s",
                "sasl.oauthbearer.scope": "a b",
                "sasl.oauthbearer.extensions": "logicalCluster=lkc-1,identityPoolId=pool-1",
            },
        ),
        (f"{OAUTH} required;", "OAUTHBEARER", {}),
        (
            f"{MSK} required awsProfileName=p awsRoleArn='arn:aws:iam::1:role/r' "
            "awsRoleSessionName=s awsDebugCreds=true;",
            "AWS_MSK_IAM",
            {
                "sasl.aws.profile": "p",
                "sasl.aws.role.arn": "arn:aws:iam::1:role/r",
                "sasl.aws.role.session.name": "s",
            },
        ),
        (
            f"{KRB5} required useKeyTab=True storeKey=true keyTab='/k' principal='p@R' "
            "serviceName=kafka;",
            "GSSAPI",
            {
                "sasl.kerberos.keytab": "/k",
                "sasl.kerberos.principal": "p@R",
                "sasl.kerberos.service.name": "kafka",
            },
        ),
        (f"{KRB5} required useTicketCache=true;", "GSSAPI", {}),
    ],
)
def test_credentials(text: str, mechanism: str, credentials: dict[str, str]) -> None:
    assert credentials_of(parse_jaas(text), mechanism) == credentials


@pytest.mark.parametrize(
    ("text", "mechanism", "reason"),
    [
        (
            f"{PLAIN} required;",
            "SCRAM-SHA-512",
            "names PlainLoginModule, which is for PLAIN, but kafka.sasl.mechanism is SCRAM-SHA-512",
        ),
        (f"{SCRAM} required;", "PLAIN", "is for SCRAM-SHA-256 and SCRAM-SHA-512, but"),
        ("hunter2 required;", "PLAIN", f"a login module that is not one of {PLAIN}, {SCRAM}"),
        (f"Xx{PLAIN} required;", "PLAIN", "a login module that is not one of"),
        (
            f"{PLAIN} required password=correct hunter2=tr0ub4dor;",
            "PLAIN",
            "an option that PlainLoginModule does not know; it knows password, username",
        ),
        (f"{PLAIN} required extension_a=b;", "PLAIN", "an option that PlainLoginModule does not"),
        (f"{OAUTH} required unsecuredLoginStringClaim_sub=a;", "OAUTHBEARER", "token.callback"),
        (f"{OAUTH} required extension_a='b,c';", "OAUTHBEARER", "extension with a comma"),
        (f"{MSK} required awsRoleSecretAccessKey=hunter2;", "AWS_MSK_IAM", "a profile of AWS's"),
        (f"{MSK} required awsStsRegion=eu-west-1;", "AWS_MSK_IAM", "the cluster's region"),
        (f"{KRB5} required ticketCache='/tmp/x';", "GSSAPI", "KRB5CCNAME"),
        (f"{KRB5} required keyTab='/k';", "GSSAPI", "keyTab without useKeyTab=true"),
        (f"{KRB5} required keyTab='/k' useKeyTab=false;", "GSSAPI", "keyTab without useKeyTab"),
    ],
)
def test_fault_54_unsupported_modules_and_options(text: str, mechanism: str, reason: str) -> None:
    with pytest.raises(KafkaConfigError) as caught:
        credentials_of(parse_jaas(text), mechanism)
    message = str(caught.value)
    assert message.startswith("Option 'kafka.sasl.jaas.config' ")
    assert reason in message
    assert not [part for part in SECRET_PARTS if part in message]
