//! Which folders and cores the guard takes for its command, and what it removes.

mod peer;

use std::fs;
use std::process::Stdio;

use peer::{engine, output_of};
use serde_json::Value;

/// Returns the exit code of the guard of `true` with these arguments, and what it writes on standard error.
fn guarded(arguments: &[&str]) -> (Option<i32>, String) {
    let mut guard = engine();
    guard.arg("guard").args(arguments).args(["--", "true"]).stdin(Stdio::null());
    let output = output_of(guard.spawn().unwrap());
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_folder_that_holds_something_is_refused_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let thesis = folder.path().join("thesis");
    fs::write(&thesis, "ten years").unwrap();
    let (exit_code, said) = guarded(&["--scratch", folder.path().to_str().unwrap()]);
    assert_eq!(exit_code, Some(2), "{said}");
    let failure: Value = serde_json::from_str(&said).unwrap();
    assert!(failure["remedy"].as_str().unwrap().contains("empty folder"), "{said}");
    assert_eq!(fs::read_to_string(thesis).unwrap(), "ten years");
}

#[test]
fn a_folder_that_is_new_empty_or_made_for_it_goes_with_the_command() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("scratch");
    for made in [false, true] {
        let file = folder.join(".crumple-scratch");
        if made {
            fs::create_dir(&folder).unwrap();
            fs::write(&file, "").unwrap();
            fs::write(folder.join("filled"), "before").unwrap();
        }
        assert_eq!(guarded(&["--scratch", folder.to_str().unwrap()]).0, Some(0));
        assert!(!folder.exists());
    }
    fs::create_dir(&folder).unwrap();
    assert_eq!(guarded(&["--scratch", folder.to_str().unwrap()]).0, Some(0));
    assert!(!folder.exists());
}

#[test]
fn a_grace_that_is_no_time_and_a_core_that_is_not_there_are_usage_errors() {
    for arguments in [["--grace=-1"], ["--grace=NaN"], ["--grace=inf"], ["--cores=0,1023"]] {
        let (exit_code, said) = guarded(&arguments);
        assert_eq!(exit_code, Some(2), "{said}");
        assert!(said.contains("from 0 to 3600") || said.contains("core 1023"), "{said}");
    }
}
