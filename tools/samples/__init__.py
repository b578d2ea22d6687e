"""The synchronous grammar that wrote the files of `partita.samples`."""
