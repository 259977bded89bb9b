//! A caller that does not read the engine's output, or has closed it, neither delays nor ends a trial.

mod peer;

use std::io::{PipeReader, PipeWriter, Write, pipe};
use std::process::Stdio;

use peer::record::{assert_consistent, count};
use peer::tried::until_shown;
use peer::{HELLO, answering, engine, for_seconds, open, output_of, record_of, spec, start_by};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use serde_json::{Value, json};

/// Returns both ends of a pipe that takes nothing more.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (read, mut write) = pipe().unwrap();
    let flags = fcntl_getfl(&write).unwrap();
    fcntl_setfl(&write, flags | OFlags::NONBLOCK).unwrap();
    while write.write(&[b' '; 4096]).is_ok() {}
    fcntl_setfl(&write, flags).unwrap();
    (read, write)
}

/// Returns the writing end of a pipe whose reading end is closed.
fn broken_pipe() -> PipeWriter {
    pipe().unwrap().1
}

/// A trial that lasts longer than the ring of due times reaches, with a line of progress every tenth of a second.
fn long_open() -> Value {
    let mut spec = spec(&answering(HELLO), 0);
    spec["shape"] = open(4, 200.0);
    spec["stop"] = for_seconds(6.0);
    spec["progress"]["every_ms"] = json!(100);
    spec
}

#[test]
fn a_reader_of_the_progress_who_does_not_read_holds_up_neither_schedule_nor_record() {
    let (_unread, full) = full_pipe();
    let mut command = engine();
    command.stderr(full);
    let record = record_of(start_by(command, &long_open()));
    assert_eq!(record["scheduled"], 1_200);
    let served = count(&record, "ok") + count(&record, "unfinished");
    assert!(served >= 1_150, "due times went on to be laid out: {:#}", record["outcomes"]);
}

#[test]
fn a_reader_of_the_progress_who_has_gone_costs_no_record() {
    let mut spec = long_open();
    spec["stop"] = for_seconds(1.3);
    let mut command = engine();
    command.stderr(broken_pipe());
    let record = record_of(start_by(command, &spec));
    assert_eq!(record["scheduled"], 260);
}

#[test]
fn lines_of_progress_come_whole_and_at_their_interval() {
    let mut spec = long_open();
    spec["stop"] = for_seconds(1.05);
    until_shown(|| {
        let output = output_of(start_by(engine(), &spec));
        assert_consistent(&serde_json::from_slice(&output.stdout).unwrap());
        let lines = String::from_utf8(output.stderr).unwrap();
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(lines.len() <= 10, "{lines:?}");
        // They are written at idle priority, so that they hold up no request.
        if lines.len() < 5 { Err(format!("{} lines", lines.len())) } else { Ok(()) }
    });
}

#[test]
fn an_answer_that_nobody_takes_is_a_failure_and_no_panic() {
    for command in ["schema", "null-server", "costs"] {
        let mut engine = engine();
        engine.arg(command).stdin(Stdio::null()).stdout(broken_pipe());
        let output = output_of(engine.spawn().unwrap());
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains("cannot write to standard output"), "{text}");
    }
}

#[test]
fn a_record_that_nobody_takes_is_a_failure_and_no_panic() {
    let mut spec = long_open();
    spec["stop"] = for_seconds(0.3);
    let mut command = engine();
    command.stdout(broken_pipe());
    let output = output_of(start_by(command, &spec));
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("cannot write the record"), "{text}");
}

#[test]
fn a_refusal_that_nobody_reads_keeps_its_exit_code() {
    let mut spec = long_open();
    spec["threads"] = json!(0);
    let mut command = engine();
    command.stderr(broken_pipe());
    assert_eq!(output_of(start_by(command, &spec)).status.code(), Some(2));
}
