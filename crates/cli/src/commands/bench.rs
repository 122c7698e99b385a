//! `mission bench …` and `mission semantic score …`: what measures is a program of
//! its own, so that nobody builds or carries it who does not measure. This finds
//! it and becomes it; what it prints and how it ends is its own.

use std::env;
use std::ffi::OsStr;
use std::process::{Command, ExitCode};

use missiond_console::sibling;
use missiond_core::ErrorCode;

use crate::args::BenchArgs;
use crate::failure::Failure;
use crate::output::Output;

const PROGRAM: &str = "mission-bench";

pub(super) fn run(args: &BenchArgs, output: &Output) -> Result<ExitCode, Failure> {
    run_bench(&[], args, output)
}

/// `mission semantic score …`
pub(super) fn score(args: &BenchArgs, output: &Output) -> Result<ExitCode, Failure> {
    run_bench(&["score"], args, output)
}

fn run_bench(command: &[&str], args: &BenchArgs, output: &Output) -> Result<ExitCode, Failure> {
    let program = sibling::find(PROGRAM).ok_or_else(|| {
        let message = "`mission-bench`, the program that measures, is neither beside `mission` nor \
                       in PATH: `cargo build --release --package missiond-bench` builds it";
        Failure::new(ErrorCode::NotFound, message)
    })?;
    let json = output.is_json().then_some(OsStr::new("--json"));
    let mut bench = Command::new(&program);
    bench
        .args(json)
        .args(command)
        .args(&args.args)
        // A bench in PATH has another `mission` beside it than this one.
        .env("MISSION_BENCH_PROGRAM", env::current_exe()?);
    exec(bench).map_err(|error| {
        let message = format!("{} could not be started: {error}", program.display());
        Failure::new(ErrorCode::Internal, message)
    })
}

fn exec(mut program: Command) -> std::io::Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    Err(program.exec())
}
