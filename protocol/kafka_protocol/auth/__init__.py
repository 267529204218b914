"""SASL: the tokens of each mechanism, as bytes in and bytes out.

`mechanism` is the interface; each mechanism has a module: PLAIN, SCRAM, OAUTHBEARER, AWS_MSK_IAM
and GSSAPI. `secret` keeps passwords out of logs, `jaas` reads `sasl.jaas.config`. No sockets, no
clock, no Kafka messages and no other options here: `client` sends the tokens. Only botocore and
Kerberos do their own I/O.
"""
