"""The version, in its own module: builds and ApiVersions requests read it cheaply."""

__version__ = "0.1.0.dev0"
