"""Commands of other load generators, and what each sends."""

CERTIFICATES = ("--cert", "--key", "--cacert", "--insecure")


# hey.go of hey and the `Opts` of oha 1.15: each flag with a value that it takes.
HEY = {
    "-n": "200", "-c": "50", "-q": "10", "-z": "10s", "-m": "PUT", "-H": "A: b", "-t": "20",
    "-A": "text/html", "-d": "body", "-D": "FILE", "-T": "text/plain", "-U": "me/1", "-a": "me:secret",
    "-x": "http://127.0.0.1:3128", "-host": "a.test", "-disable-compression": None,
    "-disable-keepalive": None, "-disable-redirects": None,
}  # fmt: skip


OHA = {
    "-n": "10k", "-c": "50", "-z": "1m30s", "-q": "10.5", "--latency-correction": None, "--no-tui": None,
    "-m": "PUT", "--method": "PUT", "-H": "A: b", "--proxy-header": "A: b", "-t": "20s",
    "--connect-timeout": "5s", "-A": "text/html", "-d": "body", "-D": "FILE", "-Z": "FILE",
    "-F": "name=value", "--form": "name=@FILE", "-T": "text/plain", "-a": "me:secret",
    "-x": "http://127.0.0.1:3128", "--http-version": "1.1", "--host": "a.test", "--disable-compression": None,
    "-r": "0", "--redirect": "0", "--disable-keepalive": None, "--ipv6": None, "--ipv4": None,
    "--cacert": "FILE", "--cert": "FILE", "--key": "FILE", "--insecure": None,
    "--connect-to": "127.0.0.1:8080:127.0.0.2:8081", "--no-color": None, "--disable-color": None,
    "--unix-socket": "SOCKET", "--debug": None,
}  # fmt: skip


# Beside a flag that needs another one. "--ipv6" takes a host that has such an address.
BESIDE = {"--proxy-header": ["-x", "http://127.0.0.1:3128"], "--key": ["--cert", "FILE"]}
