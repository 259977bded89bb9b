//! A request's bytes, laid out once before the clock starts.

use crate::spec::{Faults, RequestSpec};

/// The whole request as it goes over the wire. Headers given by the spec replace ours.
pub fn render(request: &RequestSpec, host: &str, faults: &mut Faults) -> Vec<u8> {
    check(request, host, faults);
    let has = |name: &str| request.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    let mut text = format!("{} {} HTTP/1.1\r\n", request.method, request.path);
    let mut header = |name: &str, value: &str| text.push_str(&format!("{name}: {value}\r\n"));
    if !has("host") {
        header("Host", host);
    }
    for (name, value) in &request.headers {
        header(name, value);
    }
    if let Some(body) = &request.body
        && !has("content-length")
    {
        header("Content-Length", &body.len().to_string());
    }
    text.push_str("\r\n");
    text.push_str(request.body.as_deref().unwrap_or_default());
    text.into_bytes()
}

fn check(request: &RequestSpec, host: &str, faults: &mut Faults) {
    let is_token = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
    };
    let is_value = |text: &str| text.bytes().all(|byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f));
    faults.unless(is_token(&request.method), "request.method", "must be an HTTP method, for instance GET");
    let path = &request.path;
    faults.unless(
        path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic()),
        "request.path",
        "must start with / and hold neither spaces nor control characters",
    );
    faults.unless(is_value(host) && !host.is_empty(), "target.host", "must be a host name or address");
    for (name, value) in &request.headers {
        let key = format!("request.headers[{name}]");
        faults.unless(is_token(name) && is_value(value), &key, "is not a header that HTTP allows");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> RequestSpec {
        RequestSpec {
            method: "POST".into(),
            path: "/x?y=1".into(),
            headers: vec![("Accept".into(), "*/*".into())],
            body: Some("abc".into()),
        }
    }

    #[test]
    fn a_request_is_laid_out_as_the_standard_says() {
        let bytes = render(&request(), "127.0.0.1:80", &mut Faults::default());
        let expected =
            "POST /x?y=1 HTTP/1.1\r\nHost: 127.0.0.1:80\r\nAccept: */*\r\nContent-Length: 3\r\n\r\nabc";
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }

    #[test]
    fn a_given_host_replaces_ours() {
        let mut request = request();
        request.headers = vec![("host".into(), "a.example".into())];
        let bytes = render(&request, "127.0.0.1:80", &mut Faults::default());
        assert_eq!(String::from_utf8(bytes).unwrap().to_lowercase().matches("host:").count(), 1);
    }
}
