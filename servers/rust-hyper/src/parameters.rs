//! What the contract says a request's parameters may be.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use crate::failure::Failure;

/// The value of a parameter, or `otherwise` where the query has none.
pub fn whole_number(
    query: &str,
    name: &str,
    range: RangeInclusive<usize>,
    otherwise: usize,
) -> Result<usize, Failure> {
    let Some(text) = text(query, name) else {
        return Ok(otherwise);
    };
    // parse alone would take a plus sign.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(value) if digits && range.contains(&value) => Ok(value),
        _ => Err(Failure::BadParameter(format!(
            "{name} must be a whole number from {} to {}",
            range.start(),
            range.end()
        ))),
    }
}

/// What the query says of it, unless that is nothing.
pub fn text<'query>(query: &'query str, name: &str) -> Option<Cow<'query, str>> {
    form_urlencoded::parse(query.as_bytes())
        .find(|(key, _)| key == name)
        .map(|(_, value)| value)
        .filter(|value| !value.is_empty())
}
