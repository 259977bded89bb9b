//! HTTP/1.1 as a load generator needs it: requests are laid out once or rendered ahead, and answers are read without
//! a copy.

pub mod answer;
mod chunked;
pub mod deck;
pub mod feed;
pub mod head;
pub mod lines;
pub mod refined;
pub mod request;
pub mod template;
pub mod values;
