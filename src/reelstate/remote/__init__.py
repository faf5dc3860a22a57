"""Workers without access to the database or a shared folder: the verbs of engine and storage over HTTP."""
