"""Wrong command lines."""

import pytest

from kafka_spark_source import cli


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["peak"], "'peak' is not a command: did you mean 'peek'?"),
        (["topics", "lst"], "did you mean 'list'?"),
        (["x"], "'x' is not a command: there are doctor, lag, "),
        (["broker"], "required: COMMAND"),
        (["broker", "start", "--nodes", "0"], "'0' is not a number from 1 to 99"),
        (["broker", "start", "--nodes", "many"], "'many' is not a number"),
        (["broker", "start", "--port", "70000"], "'70000' is not a number from 1 to 65535"),
        (["broker", "start", "--version", "0.7"], "invalid choice: '0.7'"),
        (["broker", "start", "--security", "TLS"], "invalid choice: 'TLS'"),
        (["broker", "start", "--config", "novalue"], "'novalue' is not KEY=VALUE"),
        (["broker", "start", "--heap", "much"], "'much' is not a Java memory size"),
        (
            ["broker", "start", "--version", "0.9.0.1", "--security", "SSL"],
            "Kafka 0.9.0.1 is supported with PLAINTEXT here, not SSL",
        ),
        (["broker", "stop", "a", "--all"], "not allowed with argument"),
        (["registry"], "required: COMMAND"),
        (["registry", "start", "--port", "0"], "'0' is not a number from 1 to 65535"),
        (["registry", "start", "--heap", "much"], "'much' is not a Java memory size"),
        (["registry", "start", "--nodes", "3"], "unrecognized arguments: --nodes 3"),
        (["registry", "stop", "a", "--all"], "not allowed with argument"),
    ],
)
def test_a_wrong_command_line_is_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main(arguments)
    assert exit_.value.code == 2
    assert message in capsys.readouterr().err
