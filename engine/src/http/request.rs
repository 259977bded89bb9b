//! A request as it is sent: laid out once before the clock starts, or, if it varies, as a template that is filled
//! anew for each request.

use std::sync::Arc;

use crate::carried::Carried;
use crate::faults::Faults;
use crate::http::answer::Expectation;
use crate::http::lines;
use crate::http::template::Template;
use crate::http::values::{Files, Values};
use crate::spec::{BodyPartSpec, RequestSpec, Target};

/// One of a trial's requests, after all checks, and the answer that it should have.
pub struct Request {
    pub name: String,
    pub message: Message,
    /// Whether it may be sent again if it is not known whether the server acted on it (RFC 9110, 9.2.2).
    pub is_idempotent: bool,
    pub weight: u32,
    pub expect: Expectation,
}

/// The bytes of a request, or templates for them.
pub struct Message(Layout);

enum Layout {
    Fixed(Vec<u8>),
    Varying {
        /// The whole request, or everything before the length of `body`.
        head: Template,
        /// A body whose length varies with its values.
        body: Option<Template>,
        files: Files,
    },
}

impl Message {
    /// Lays out `spec` for `target`. Its faults are reported under `key`. Headers of the spec replace those of the
    /// engine.
    pub fn new(
        spec: &RequestSpec,
        target: &Target,
        carried: &Arc<Carried>,
        key: &str,
        faults: &mut Faults,
    ) -> Self {
        let mut files = Files::of(carried);
        let mut text = |text: &str, key: &str, faults: &mut Faults| match spec.varies {
            true => Template::parse(text, key, &mut files, faults),
            false => Some(Template::text(text.as_bytes())),
        };
        let path = text(&spec.path, &format!("{key}.path"), faults);
        let headers = spec
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), text(value, &format!("{key}.headers[{name}]"), faults)));
        let headers: Vec<_> = headers.collect();
        let body = match (&spec.body, &spec.body_file, &spec.body_parts) {
            (Some(body), None, None) => text(body, &format!("{key}.body"), faults),
            (None, Some(path), None) => read_body(path, carried, &format!("{key}.body_file"), faults),
            (None, None, Some(parts)) => joined(parts, carried, &format!("{key}.body_parts"), faults, text),
            (None, None, None) => None,
            _ => {
                let other = if spec.body_file.is_some() { "body_file" } else { "body_parts" };
                faults.add(&format!("{key}.{other}"), "stands beside another body: give one of them");
                None
            }
        };
        let parts = Parts { spec, target, path, headers, body };
        parts.check(key, &files, faults);
        parts.lay_out(files)
    }

    fn of(head: Template, body: Option<Template>, files: Files) -> Self {
        Self(match (head.fixed(), &body) {
            (Some(bytes), None) => Layout::Fixed(bytes.to_vec()),
            _ => Layout::Varying { head, body, files },
        })
    }

    /// Returns its bytes, if they are always the same.
    #[inline]
    pub fn fixed(&self) -> Option<&[u8]> {
        match &self.0 {
            Layout::Fixed(bytes) => Some(bytes),
            Layout::Varying { .. } => None,
        }
    }

    /// Appends the request to `out`, with `values` in it.
    pub fn render(&self, values: &mut Values, out: &mut Vec<u8>) {
        let (head, body, files) = match &self.0 {
            Layout::Fixed(bytes) => return out.extend_from_slice(bytes),
            Layout::Varying { head, body, files } => (head, body, files),
        };
        head.render(files, values, out);
        if let Some(body) = body {
            let length_at = out.len();
            out.extend_from_slice(b"\r\n\r\n");
            let body_at = out.len();
            body.render(files, values, out);
            let length = out.len() - body_at;
            out.splice(length_at..length_at, itoa::Buffer::new().format(length).bytes());
        }
    }
}

/// The parts of a request; `None` for those that have faults.
struct Parts<'a> {
    spec: &'a RequestSpec,
    target: &'a Target,
    path: Option<Template>,
    headers: Vec<(&'a str, Option<Template>)>,
    body: Option<Template>,
}

impl Parts<'_> {
    fn check(&self, key: &str, files: &Files, faults: &mut Faults) {
        let method = format!("{key}.method");
        faults.unless(is_token(&self.spec.method), &method, "must be an HTTP method, for instance GET");
        if let Some(path) = &self.path {
            let key = format!("{key}.path");
            faults.unless(path.begins_with(b'/', files), &key, "must start with /");
            if let Some(text) = path.find_unlike(files, |text| text.iter().all(u8::is_ascii_graphic)) {
                let text = String::from_utf8_lossy(text);
                let what = "must hold neither spaces nor control characters: percent-encode them";
                faults.add(&key, format!("{what} in {text:?}"));
            }
        }
        let host = self.target.host.as_bytes();
        faults.unless(is_value(host) && !host.is_empty(), "target.host", "must be a host name or address");
        for (name, value) in &self.headers {
            let unlike = value.as_ref().and_then(|value| value.find_unlike(files, is_value));
            let key = format!("{key}.headers[{name}]");
            faults.unless(is_token(name) && unlike.is_none(), &key, "is not a header that HTTP allows");
        }
    }

    fn lay_out(self, files: Files) -> Message {
        let mut head = Template::text(format!("{} ", self.spec.method).as_bytes());
        // A proxy that opens no tunnel learns from the request which server is meant (RFC 9112, 3.2.2).
        let proxy = self.target.proxy.as_ref().filter(|_| self.target.tls.is_none());
        if let Some(proxy) = proxy {
            head.push_text(format!("http://{}", proxy.authority).as_bytes());
        }
        head.push(self.path.unwrap_or_default());
        head.push_text(b" HTTP/1.1\r\n");
        let has = |name: &str| self.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        if !has("host") {
            head.push_text(format!("Host: {}\r\n", self.target.host).as_bytes());
        }
        let is_framed = has("content-length") || has("transfer-encoding");
        for (name, value) in self.headers {
            head.push_text(format!("{name}: ").as_bytes());
            head.push(value.unwrap_or_default());
            head.push_text(b"\r\n");
        }
        for (name, value) in proxy.into_iter().flat_map(|proxy| &proxy.headers) {
            head.push_text(format!("{name}: {value}\r\n").as_bytes());
        }
        // "A user agent SHOULD send Content-Length" if the method foresees content (RFC 9110, 8.6).
        let foresees_content = matches!(self.spec.method.as_str(), "POST" | "PUT" | "PATCH");
        match self.body.or_else(|| foresees_content.then(Template::default)) {
            Some(body) if !is_framed => framed(head, body, files),
            body => {
                head.push_text(b"\r\n");
                head.push(body.unwrap_or_default());
                Message::of(head, None, files)
            }
        }
    }
}

/// Lays out the request of `head`, as far as the spec gives it, and `body`, and adds the length of the body.
fn framed(mut head: Template, body: Template, files: Files) -> Message {
    head.push_text(b"Content-Length: ");
    let Some(bytes) = body.fixed() else {
        return Message::of(head, Some(body), files);
    };
    head.push_text(format!("{}\r\n\r\n", bytes.len()).as_bytes());
    head.push(body);
    Message::of(head, None, files)
}

fn read_body(path: &str, carried: &Carried, key: &str, faults: &mut Faults) -> Option<Template> {
    match carried.read(path) {
        Ok(bytes) => Some(Template::text(&bytes)),
        Err(error) => {
            faults.add(key, format!("names {path}, which cannot be read: {error}"));
            None
        }
    }
}

/// Returns the parts as one text. `text` reads those that are no files.
fn joined(
    parts: &[BodyPartSpec],
    carried: &Carried,
    key: &str,
    faults: &mut Faults,
    mut text: impl FnMut(&str, &str, &mut Faults) -> Option<Template>,
) -> Option<Template> {
    let mut whole = Template::default();
    for (index, part) in parts.iter().enumerate() {
        let key = format!("{key}[{index}]");
        let read = match (&part.text, &part.file) {
            (Some(given), None) => text(given, &key, faults),
            (None, Some(path)) => read_body(path, carried, &key, faults),
            _ => {
                faults.add(&key, "must be a text or a file");
                None
            }
        };
        whole.push(read.unwrap_or_default());
    }
    Some(whole)
}

/// Returns whether HTTP allows such a header.
pub fn is_header(name: &str, value: &str) -> bool {
    is_token(name) && is_value(value.as_bytes())
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(lines::is_token)
}

fn is_value(text: &[u8]) -> bool {
    text.iter().all(|&byte| lines::is_value(byte))
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
