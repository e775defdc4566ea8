"""The fakes and the test server that ship with the package."""
