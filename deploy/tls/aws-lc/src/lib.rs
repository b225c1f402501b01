// Empty: the package exists so that cargo fetches and verifies aws-lc-sys.
