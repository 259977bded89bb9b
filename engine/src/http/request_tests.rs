use super::*;
use crate::part::Part;
use crate::random;
use crate::spec::{ExpectSpec, ProxySpec, TlsSpec};
use crate::written::Written;

fn spec() -> RequestSpec {
    RequestSpec {
        name: String::new(),
        method: "POST".into(),
        path: "/x?y=1".into(),
        headers: vec![("Accept".into(), "*/*".into())],
        body: Some("abc".into()),
        body_file: None,
        body_parts: None,
        varies: false,
        weight: 1,
        expect: ExpectSpec { status: None, body_bytes: None, body_sha256: None, hash_one_in: 0 },
    }
}

fn target(host: &str) -> Target {
    Target { address: "127.0.0.1:80".into(), host: host.into(), tls: None, proxy: None, sources: vec![] }
}

fn message(spec: &RequestSpec) -> Message {
    message_to(&target("127.0.0.1:80"), spec)
}

fn message_to(target: &Target, spec: &RequestSpec) -> Message {
    let mut faults = Faults::default();
    let message = Message::new(spec, target, &Arc::default(), "requests[0]", &mut faults);
    faults.none().map_err(|failure| failure.error).unwrap();
    message
}

fn fixed(spec: &RequestSpec) -> String {
    String::from_utf8(message(spec).fixed().expect("it does not vary").to_vec()).unwrap()
}

fn fault(spec: &RequestSpec, host: &str) -> String {
    let mut faults = Faults::default();
    Message::new(spec, &target(host), &Arc::default(), "requests[0]", &mut faults);
    faults.none().expect_err("the request has a fault").error
}

/// Returns the first `count` requests of one kind.
fn rendered(spec: &RequestSpec, count: u64) -> Vec<String> {
    let message = message(spec);
    assert!(message.fixed().is_none());
    let (mut last_seq, mut random) = (0, random::seeded(1, 0));
    let mut out = Vec::new();
    let mut ends = vec![0];
    for turn in 0..count {
        message.render(&mut Values::new(Part::WHOLE, turn, &mut last_seq, &mut random), &mut out);
        ends.push(out.len());
    }
    ends.windows(2).map(|ends| String::from_utf8(out[ends[0]..ends[1]].to_vec()).unwrap()).collect()
}

#[test]
fn a_request_is_laid_out_as_the_standard_says() {
    let expected =
        "POST /x?y=1 HTTP/1.1\r\nHost: 127.0.0.1:80\r\nAccept: */*\r\nContent-Length: 3\r\n\r\nabc";
    assert_eq!(fixed(&spec()), expected);
}

#[test]
fn given_headers_replace_ours() {
    let mut spec = spec();
    spec.headers = vec![("host".into(), "a.example".into()), ("content-length".into(), "3".into())];
    let expected = "POST /x?y=1 HTTP/1.1\r\nhost: a.example\r\ncontent-length: 3\r\n\r\nabc";
    assert_eq!(fixed(&spec), expected);
}

#[test]
fn a_body_that_frames_itself_gets_no_length() {
    let mut spec = spec();
    spec.headers = vec![("Transfer-Encoding".into(), "chunked".into())];
    spec.body = Some("0\r\n\r\n".into());
    assert!(fixed(&spec).ends_with("\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"));
}

#[test]
fn no_body_has_a_length_only_where_one_is_foreseen() {
    let mut spec = spec();
    spec.body = None;
    assert!(fixed(&spec).ends_with("\r\nContent-Length: 0\r\n\r\n"));
    spec.method = "GET".into();
    assert!(fixed(&spec).ends_with("\r\nAccept: */*\r\n\r\n"));
}

#[test]
fn a_body_comes_from_a_file_byte_by_byte() {
    let file = Written::new("body", b"\x00\xff{seq}\r\n");
    let mut spec = spec();
    (spec.body, spec.body_file, spec.varies) = (None, Some(file.path().into()), true);
    let message = message(&spec);
    assert!(message.fixed().unwrap().ends_with(b"\r\nContent-Length: 9\r\n\r\n\x00\xff{seq}\r\n"));
}

fn part(text: Option<&str>, file: Option<&str>) -> BodyPartSpec {
    BodyPartSpec { text: text.map(Into::into), file: file.map(Into::into) }
}

#[test]
fn the_parts_of_a_body_follow_one_another() {
    let file = Written::new("part", b"\x00\xff{seq}");
    let mut spec = spec();
    spec.body = None;
    spec.body_parts =
        Some(vec![part(Some("a{seq} "), None), part(None, Some(file.path())), part(Some(" b"), None)]);
    let whole = message(&spec);
    assert!(whole.fixed().unwrap().ends_with(b"\r\nContent-Length: 16\r\n\r\na{seq} \x00\xff{seq} b"));
    // Only the texts vary: the bytes of a file are sent as they are.
    spec.body_parts = Some(vec![part(Some("n={seq}&"), None), part(Some("m={seq}"), None)]);
    spec.varies = true;
    assert!(rendered(&spec, 12)[11].ends_with("\r\nContent-Length: 9\r\n\r\nn=12&m=12"));
}

#[test]
fn a_part_of_a_body_is_a_text_or_a_file() {
    let mut spec = spec();
    spec.body_parts = Some(vec![]);
    assert!(fault(&spec, "a").contains("requests[0].body_parts stands beside another body"));
    spec.body = None;
    let file = Some("/nowhere/b");
    spec.body_parts = Some(vec![part(None, None), part(Some(""), file), part(None, file)]);
    let error = fault(&spec, "a");
    assert_eq!(error.matches("must be a text or a file").count(), 2, "{error}");
    assert!(error.contains("requests[0].body_parts[2] names /nowhere/b"), "{error}");
}

#[test]
fn a_proxy_without_a_tunnel_is_told_the_server_and_gets_its_headers() {
    let mut target = target("a.example");
    target.proxy = Some(ProxySpec {
        authority: "a.example".into(),
        headers: vec![("Proxy-Authorization".into(), "Basic eDp5".into())],
    });
    let whole = String::from_utf8(message_to(&target, &spec()).fixed().unwrap().to_vec()).unwrap();
    let expected = "POST http://a.example/x?y=1 HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\n\
                    Proxy-Authorization: Basic eDp5\r\nContent-Length: 3\r\n\r\nabc";
    assert_eq!(whole, expected);
    // Through a tunnel the server is asked itself, and does not see what is for the proxy.
    target.tls =
        Some(TlsSpec { server_name: "a.example".into(), verify: false, ca_file: None, client: None });
    assert_eq!(
        message_to(&target, &spec()).fixed(),
        message(&{
            let mut same = spec();
            same.headers.insert(0, ("Host".into(), "a.example".into()));
            same
        })
        .fixed()
    );
}

#[test]
fn braces_are_braces_unless_the_request_varies() {
    let mut spec = spec();
    spec.path = "/{seq}".into();
    assert!(fixed(&spec).starts_with("POST /{seq} HTTP/1.1\r\n"));
    (spec.path, spec.varies) = ("/{{seq}".into(), true);
    assert!(fixed(&spec).starts_with("POST /{seq} HTTP/1.1\r\n"));
}

#[test]
fn the_length_is_that_of_the_rendered_body() {
    let words = Written::new("bodies", "ham\nscrambled eggs\n");
    let mut spec = spec();
    spec.varies = true;
    spec.path = "/{seq}".into();
    spec.headers = vec![("X-Id".into(), "{seq}".into())];
    spec.body = Some(format!(r#"{{"id": {{seq}}, "w": "{{line:{}}}"}}"#, words.path()));
    for (index, text) in rendered(&spec, 200).iter().enumerate() {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let (seq, word) = (index + 1, ["ham", "scrambled eggs"][index % 2]);
        assert_eq!(body, format!(r#"{{"id": {seq}, "w": "{word}"}}"#));
        let expected = format!(
            "POST /{seq} HTTP/1.1\r\nHost: 127.0.0.1:80\r\nX-Id: {seq}\r\nContent-Length: {}",
            body.len()
        );
        assert_eq!(head, expected);
    }
}

#[test]
fn a_fixed_body_follows_a_varying_head() {
    let mut spec = spec();
    (spec.path, spec.varies) = ("/{seq}".into(), true);
    let expected = "POST /2 HTTP/1.1\r\nHost: 127.0.0.1:80\r\nAccept: */*\r\nContent-Length: 3\r\n\r\nabc";
    assert_eq!(rendered(&spec, 2)[1], expected);
}

#[test]
fn what_http_does_not_allow_is_a_fault() {
    let (mut method, mut path, mut header, mut name) = (spec(), spec(), spec(), spec());
    method.method = "GE T".into();
    path.path = "/two words".into();
    header.headers = vec![("X".into(), "a\r\nY: b".into())];
    name.headers = vec![("X Y".into(), "a".into())];
    assert!(fault(&method, "a").contains("requests[0].method"));
    assert!(fault(&path, "a").contains("requests[0].path"));
    assert!(fault(&header, "a").contains("requests[0].headers[X]"));
    assert!(fault(&name, "a").contains("requests[0].headers[X Y]"));
    assert!(fault(&spec(), "").contains("target.host"));
    path.path = "x".into();
    assert!(fault(&path, "a").contains("must start with /"));
}

#[test]
fn lines_of_a_file_are_held_to_the_same() {
    let words = Written::new("paths", "/ham\n/two eggs\n");
    let mut spec = spec();
    (spec.path, spec.varies) = (format!("{{line:{}}}", words.path()), true);
    let error = fault(&spec, "a");
    assert!(error.contains("requests[0].path") && error.contains("/two eggs"), "{error}");
    spec.path = format!("/x{{line:{}}}", words.path());
    assert!(fault(&spec, "a").contains("/two eggs"));
    spec.path = "/".into();
    spec.body = Some(format!("{{line:{}}}", words.path()));
    assert!(rendered(&spec, 2)[1].ends_with("/two eggs"));
}

#[test]
fn faults_of_values_and_files_are_named_once_each() {
    let mut spec = spec();
    spec.varies = true;
    spec.path = "{line:/nowhere/a}".into();
    spec.headers = vec![("X".into(), "{nothing}".into())];
    (spec.body, spec.body_file) = (None, Some("/nowhere/b".into()));
    let error = fault(&spec, "a");
    let named = ["requests[0].path names", "requests[0].headers[X] holds", "requests[0].body_file names"];
    assert!(named.iter().all(|what| error.contains(what)), "{error}");
    assert_eq!(error.matches("requests[0]").count(), 3, "{error}");
    (spec.body, spec.body_file) = (Some(String::new()), Some("/nowhere/b".into()));
    assert!(fault(&spec, "a").contains("requests[0].body_file stands beside another body"));
}
