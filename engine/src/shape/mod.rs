//! Load shapes: when requests are due. A shape is a value; it holds no socket and reads no clock.

pub mod closed;
