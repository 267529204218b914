"""The version, in a module of its own so that builds and ApiVersions can read it cheaply."""

__version__ = "0.1.0.dev0"
