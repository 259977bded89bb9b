//! Why there is no answer.

/// The client's mistake, or something of ours.
pub enum Failure {
    BadParameter(String),
    Broken(String),
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Broken(error.to_string())
    }
}
