//! Measures the journal in a temporary folder, or in the one that is named.
#![allow(clippy::print_stdout, reason = "it is a program for a person")]

use std::path::PathBuf;

use missiond_journal::bench::{BenchSize, measure};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let temporary = tempfile::tempdir()?;
    let named = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = named.unwrap_or_else(|| temporary.path().to_owned());
    let report = measure(&folder, BenchSize::default())?;
    println!("{}", serde_json::to_string_pretty(&report)?);
    Ok(())
}
