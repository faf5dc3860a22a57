"""Workers that have neither a database nor a shared folder: the engine's verbs and the storage's, over HTTP."""
