//! What answers each path.

use std::convert::Infallible;
use std::env;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde::Serialize;

use crate::database::Database;
use crate::failure::Failure;
use crate::parameters::whole_number;
use crate::{AnyError, file, hash, mix, primes, todos};

const TEXT: HeaderValue = HeaderValue::from_static("text/plain");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

type Answer = Response<Full<Bytes>>;

/// What handlers share.
pub struct Site {
    hash_file: PathBuf,
    files_folder: PathBuf,
    database: Database,
}

impl Site {
    pub fn from_environment(pool: usize) -> Result<Self, AnyError> {
        Ok(Self {
            hash_file: env::var_os("HASH_FILE").unwrap_or_default().into(),
            files_folder: env::var_os("FILES_FOLDER").unwrap_or_default().into(),
            database: Database::from_environment(pool)?,
        })
    }
}

pub async fn answer(site: Arc<Site>, request: Request<Incoming>) -> Result<Answer, Infallible> {
    let answered = route(&site, &request).await;
    Ok(answered.unwrap_or_else(|failure| match failure {
        Failure::BadParameter(message) => plain(StatusCode::BAD_REQUEST, message),
        Failure::Broken(message) => plain(StatusCode::INTERNAL_SERVER_ERROR, message),
    }))
}

async fn route(site: &Site, request: &Request<Incoming>) -> Result<Answer, Failure> {
    let query = request.uri().query().unwrap_or_default();
    match request.uri().path() {
        "/hello" | "/todos" | "/hash" | "/file" | "/options" | "/rows" | "/primes" | "/mix"
            if request.method() != Method::GET =>
        {
            Ok(only_get())
        }
        "/hello" => hello(query).await,
        "/todos" => json(&todos::TODOS),
        "/hash" => Ok(text(hash::digest(&site.hash_file, query).await?)),
        "/file" => Ok(text(
            file::written_and_read(&site.files_folder, query).await?,
        )),
        "/options" => json(&site.database.options().await?),
        "/rows" => json(&site.database.books().await?),
        "/primes" => json(&primes::below(whole_number(
            query,
            "below",
            0..=10_000_000,
            1_000_000,
        )?)),
        "/mix" => Ok(text(mix::letters(query).await?)),
        _ => Ok(plain(StatusCode::NOT_FOUND, "no such path")),
    }
}

async fn hello(query: &str) -> Result<Answer, Failure> {
    let delay_ms = whole_number(query, "delay_ms", 0..=60_000, 0)?;
    if delay_ms > 0 {
        tokio::time::sleep(Duration::from_millis(delay_ms as u64)).await;
    }
    Ok(text("Hello, World!"))
}

fn text(body: impl Into<Bytes>) -> Answer {
    plain(StatusCode::OK, body)
}

fn json(value: &impl Serialize) -> Result<Answer, Failure> {
    let body = serde_json::to_vec(value)?;
    Ok(with_type(JSON, StatusCode::OK, body.into()))
}

fn only_get() -> Answer {
    let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET");
    answer
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static("GET"));
    answer
}

fn plain(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    with_type(TEXT, status, body.into())
}

fn with_type(content_type: HeaderValue, status: StatusCode, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, content_type);
    answer
}
