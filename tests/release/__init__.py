"""What `make dist` does with a release before anybody installs it."""
