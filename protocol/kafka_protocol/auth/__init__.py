"""SASL: how each mechanism proves who we are, as bytes in and bytes out.

`mechanism` is the contract, one module beside it holds each mechanism: PLAIN, SCRAM, OAUTHBEARER,
AWS_MSK_IAM and GSSAPI. `secret` keeps passwords out of what is printed, `jaas` reads what Java
users have. No sockets, no clock, no Kafka messages and no options but those of `sasl.jaas.config`:
`client` carries the tokens. What botocore and Kerberos look up, they look up by themselves.
"""
