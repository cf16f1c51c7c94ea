"""Makes the fakes of this folder importable from the tests in the folders below it."""
