//! HTTP/1.1 as a load generator needs it: a request rendered once, answers read without a copy.

pub mod answer;
pub mod head;
pub mod request;
