"""The options of curl: which take a value, which a load heeds, which change nothing, which it cannot do.

`curl_command` gives those that a load heeds their meaning. A name stands here as "name", "name=" if a value
follows it, and "name/x" if it has the letter x.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from crumple.errors import UsageError

_HEEDED = """
    request/X= request-target= header/H= data/d= data-ascii= data-raw= data-binary= data-urlencode= json=
    get/G head/I url= url-query= form/F= form-string= upload-file/T= cookie/b= etag-compare= user/u=
    oauth2-bearer= user-agent/A= referer/e= range/r= continue-at/C= compressed cacert= cert/E= key=
    insecure/k proxy/x= proxy1.0= proxy-user/U= proxy-header= noproxy= connect-to= resolve= unix-socket=
    interface= ipv4/4 ipv6/6 max-time/m= connect-timeout= keepalive globoff/g path-as-is proto-default=
    http2 use-ascii/B basic
"""
# What only says what curl shows, writes and tries again, what is so anyway, or what is of another protocol.
_WITHOUT_EFFECT = """
    append/a buffer/N ca-native cert-status compressed-ssh create-dirs create-file-mode= delegation=
    disable-eprt disable-epsv disable/q disallow-username-in-url dump-ca-embed dump-header/D= egd-file=
    etag-save= expect100-timeout= fail-early fail-with-body fail/f false-start ftp-account=
    ftp-alternative-to-user= ftp-create-dirs ftp-method= ftp-pasv ftp-port/P= ftp-pret ftp-skip-pasv-ip
    ftp-ssl-ccc ftp-ssl-ccc-mode= ftp-ssl-control happy-eyeballs-timeout-ms= hostpubmd5= hostpubsha256=
    http1.1 include/i keepalive-cnt= keepalive-time= krb= libcurl= list-only/l login-options= mail-auth=
    mail-from= mail-rcpt= mail-rcpt-allowfails max-filesize= max-redirs= metalink no-clobber clobber npn
    alpn out-null output-dir= output/o= parallel-immediate parallel-max= parallel-max-host= parallel/Z
    post301 post302 post303 progress-bar/# progress-meter proto-redir= proto= proxy-basic pubkey= quote/Q=
    random-file= raw remote-header-name/J remote-name-all remote-name/O remote-time/R remove-on-error
    retry-all-errors retry-connrefused retry-delay= retry-max-time= sasl-authzid= sasl-ir service-name=
    sessionid show-error/S show-headers silent/s skip-existing speed-limit/Y= speed-time/y= ssl
    ssl-allow-beast ssl-auto-client-cert ssl-no-revoke ssl-reqd ssl-revoke-best-effort stderr=
    styled-output suppress-connect-headers tcp-fastopen tcp-nodelay telnet-option/t= tftp-blksize=
    tftp-no-options tls-earlydata tlsv1.0 tlsv1.1 tlsv1.2 tlsv1/1 trace-ascii= trace-config= trace-ids
    trace-time trace= upload-flags= verbose/v write-out/w= xattr
"""
# What a load does otherwise, and says.
_NOTED = {
    "redirects are not followed": "location/L location-trusted follow",
    "cookies of answers are not kept": "cookie-jar/c= junk-session-cookies/j",
    "a failure is counted, and not repeated": "retry=",
    "TLS 1.2 or 1.3 is agreed on with the server": """
        tlsv1.3 tls-max= ciphers= tls13-ciphers= curves= sigalgs= ech=
    """,
    "names are looked up by this machine": """
        doh-url= doh-cert-status doh-insecure dns-servers= dns-interface= dns-ipv4-addr= dns-ipv6-addr=
    """,
    "bytes are not slowed down": "limit-rate=",
    "the rate is --rate, beside --curl": "rate=",
    "local ports are the kernel's to choose": "local-port=",
    "packets are not marked": "ip-tos= vlan-priority= mptcp",
}
# What a load cannot do, by what can be done instead.
ONLY_HTTP_1_1 = "a load speaks HTTP/1.1 only; leave it out"
_REFUSED = {
    ONLY_HTTP_1_1: """
        http1.0/0 http2-prior-knowledge http3 http3-only http0.9 alt-svc= hsts= tr-encoding
        ignore-content-length haproxy-protocol haproxy-clientip=
    """,
    "one load has one URL; for several requests write --request-file FILE": "next/:",
    "a load knows Basic and Bearer; write what the server expects as -H 'Authorization: …'": """
        digest ntlm ntlm-wb negotiate anyauth netrc/n netrc-file= netrc-optional tlsauthtype=
        tlspassword= tlsuser=
    """,
    "requests are not signed; write the signature's headers with -H": "aws-sigv4=",
    "options are not read from a file; write them into the command": "config/K=",
    "curl fills it in; write the values into the command": """
        variable= expand-url= expand-header= expand-data= expand-data-raw= expand-json= expand-user=
        expand-output=
    """,
    "SSL is not spoken; leave it out": "sslv2/2 sslv3/3",
    "a key is taken from a file in PEM form, not encrypted": "pass= cert-type= key-type= engine=",
    "write --cacert FILE": "capath= crlfile= pinnedpubkey=",
    "to http a proxy is asked without a tunnel; leave it out": "proxytunnel/p",
    "only an HTTP proxy is gone through: -x": """
        socks4= socks4a= socks5= socks5-hostname= socks5-basic socks5-gssapi socks5-gssapi-nec
        socks5-gssapi-service= preproxy= ipfs-gateway=
    """,
    "a proxy knows Basic": """
        proxy-anyauth proxy-digest proxy-negotiate proxy-ntlm proxy-service-name=
    """,
    "a proxy is spoken to in plain HTTP; leave it out": """
        proxy-ca-native proxy-cacert= proxy-capath= proxy-cert-type= proxy-cert= proxy-ciphers=
        proxy-crlfile= proxy-http2 proxy-insecure proxy-key-type= proxy-key= proxy-pass=
        proxy-pinnedpubkey= proxy-ssl-allow-beast proxy-ssl-auto-client-cert proxy-tls13-ciphers=
        proxy-tlsauthtype= proxy-tlspassword= proxy-tlsuser= proxy-tlsv1
    """,
    "write --unix-socket PATH, which names a file": "abstract-unix-socket=",
    "write -H 'If-Modified-Since: …'": "time-cond/z=",
    "put the body as it is to be sent into a file": "crlf",
    "names of fields are escaped as browsers do; leave it out": "form-escape",
    "it asks nothing of a server; give the command that does": "help/h= manual/M version/V",
}


@dataclass(frozen=True)
class _Option:
    letter: str
    has_value: bool
    remedy: str = ""
    note: str = ""


def _options(names: str, **how: str) -> dict[str, _Option]:
    found = {}
    for text in names.split():
        name, _, letter = text.removesuffix("=").partition("/")
        found[f"--{name}"] = _Option(letter, text.endswith("="), **how)
    return found


_KNOWN = _options(_HEEDED) | _options(_WITHOUT_EFFECT)
for _remedy, _names in _REFUSED.items():
    _KNOWN |= _options(_names, remedy=_remedy)
for _note, _names in _NOTED.items():
    _KNOWN |= _options(_names, note=_note)
HEEDED = frozenset(_options(_HEEDED))
_BY_LETTER = {option.letter: name for name, option in _KNOWN.items() if option.letter}
# The letter stands for the negated option.
_NEGATED_LETTERS = frozenset("N")
# What the URL of a command stands under.
URL = "--url"


def note_of(name: str) -> str:
    """Return what a load does otherwise than curl with this option; empty: nothing."""
    option = _KNOWN.get(name)
    return option.note if option else ""


def read(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the options behind `curl` by their long names, each with its value or "". Raises UsageError.

    An option that is switched off is called --no-….
    """
    left = iter(words)
    for word in left:
        if word == "--":
            yield from ((URL, each) for each in left)
        elif word.startswith("--"):
            name = _long(word)
            yield name, _value(word, left) if name in _KNOWN and _KNOWN[name].has_value else ""
        elif word.startswith("-") and len(word) > 1:
            yield from _short(word[1:], left)
        else:
            yield URL, word


def _short(letters: str, left: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Yield the options of a word such as "-sXPOST"."""
    for at, letter in enumerate(letters):
        name = _BY_LETTER.get(letter)
        if name is None or _KNOWN[name].remedy:
            _refuse(f"-{letter}", name)
        if _KNOWN[name].has_value:
            behind = letters[at + 1 :]
            yield name, behind or _value(f"-{letter}", left)
            return
        yield f"--no-{name[2:]}" if letter in _NEGATED_LETTERS else name, ""


def _long(typed: str) -> str:
    """Return the name of an option of which the beginning may be typed, if no other begins so."""
    word = typed.lower()
    on = f"--{word[5:]}"
    if word not in _KNOWN and word.startswith("--no-") and on in _KNOWN:
        if _KNOWN[on].has_value:
            _refuse(typed, None)
        return word
    names = [word] if word in _KNOWN else [name for name in _KNOWN if name.startswith(word)]
    if len(names) > 1:
        raise UsageError(
            f"--curl: curl's {typed} stands for {', '.join(sorted(names)[:4])}", "write which of them"
        )
    if not names or _KNOWN[names[0]].remedy:
        _refuse(typed, next(iter(names), None))
    return names[0]


def _refuse(typed: str, name: str | None) -> NoReturn:
    if name is None:
        raise UsageError(
            f"--curl: curl's {typed} is not known here", "leave it out if the request does not need it"
        )
    raise UsageError(f"--curl: curl's {typed} cannot be done", _KNOWN[name].remedy)


def _value(typed: str, left: Iterator[str]) -> str:
    value = next(left, None)
    if value is None:
        raise UsageError(f"--curl: curl's {typed} lacks its value", "copy the whole command")
    return value
