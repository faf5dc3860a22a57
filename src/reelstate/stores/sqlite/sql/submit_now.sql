SELECT :now AS at
