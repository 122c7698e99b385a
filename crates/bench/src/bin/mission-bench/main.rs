//! `mission bench …` and `mission semantic score …`: `mission` hands both over to
//! this program. A bench prints one JSON object with its conditions and its
//! numbers. What is compared is measured in the same run, in turns, because a
//! shared machine is never the same twice.

mod args;
mod audit;
mod board;
mod code;
mod context;
mod control;
mod dispatch;
mod guard;
mod health;
mod injection;
mod ipc;
mod journal;
mod kb;
mod llm;
mod mcp;
mod policy;
mod report;
mod sandbox;
mod score;
mod scratch;
mod soak;
mod start;
mod temporary;
mod terminal;
mod timeline;
mod tokens;
mod uptime;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use missiond_console::failure::Failure;
use missiond_console::output::Output;

use args::{BenchCommand, Cli};
use report::{Report, median, micros, millis, percentile};
use temporary::Mission;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut output = Output::new(cli.json);
    match run(cli, &mut output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output.failure(&failure);
            failure.exit_code()
        }
    }
}

fn run(cli: Cli, output: &mut Output) -> Result<(), Failure> {
    // Not an option's default: then no command line would be empty, and none got the help.
    let started_by = || std::env::var_os("MISSION_BENCH_PROGRAM").map(PathBuf::from);
    let mission = Mission::new(cli.program.or_else(started_by));
    let report = match cli.command {
        BenchCommand::Timeline { events, postgres } => {
            timeline::run(events, postgres.as_deref(), output)?
        }
        BenchCommand::Board {
            claims,
            postgres,
            quick,
        } => {
            let scale = if quick {
                board::Scale::Quick
            } else {
                board::Scale::Full
            };
            board::run(claims, scale, postgres.as_deref(), &mission, output)?
        }
        BenchCommand::Code {
            files,
            path,
            questions,
            embed_minutes,
        } => {
            let wanted = code::CodeBenchOptions {
                files,
                path: &path,
                questions: questions.as_deref(),
                reading: Duration::from_secs(embed_minutes * 60),
            };
            code::run(&wanted, &mission, output)?
        }
        BenchCommand::Context { conversations } => {
            context::run(conversations as usize, &mission, output)?
        }
        BenchCommand::Control { quick } => {
            control::run(terminal::Scale::of(quick), &mission, output)?
        }
        BenchCommand::Guard {
            megabytes,
            secrets,
            decisions,
            starts,
            builds,
            injections,
            hostile,
            ordinary,
        } => {
            let size = guard::Size {
                megabytes: megabytes as usize,
                secrets: secrets as usize,
                decisions: decisions as usize,
            };
            let mut report = guard::run(size, output)?;
            let rounds = sandbox::Rounds { starts, builds };
            sandbox::measure(&mut report, rounds, &mission)?;
            let texts = injection::Texts {
                made: injections as usize,
                hostile: &hostile,
                ordinary: &ordinary,
            };
            injection::measure(&texts, &mut report)?;
            report
        }
        BenchCommand::Ipc { calls } => ipc::run(calls, &mission, output)?,
        BenchCommand::Journal { records, quick } => {
            let size = if quick {
                journal::QUICK
            } else {
                journal::full(records)
            };
            journal::run(size, output)?
        }
        BenchCommand::Kb(args) => kb::run(&args, output)?,
        BenchCommand::Llm { requests, streams } => llm::run(requests, streams, &mission, output)?,
        BenchCommand::Start { rounds } => start::run(rounds, &mission, output)?,
        BenchCommand::Mcp {
            calls,
            rounds,
            command,
        } => mcp::run(calls, rounds, &command, &mission, output)?,
        BenchCommand::Uptime { kills, every_ms } => {
            uptime::run(kills, Duration::from_millis(every_ms), &mission, output)?
        }
        BenchCommand::Health { servers, seconds } => {
            health::run(servers, Duration::from_secs(seconds), &mission, output)?
        }
        BenchCommand::Soak { seconds } => {
            soak::run(Duration::from_secs(seconds), &mission, output)?
        }
        BenchCommand::Terminal { quick } => {
            terminal::run(terminal::Scale::of(quick), &mission, output)?
        }
        BenchCommand::ToolServer { counted } => return Ok(health::serve(&counted)?),
        BenchCommand::Writer(mode) => return Ok(terminal::write_output(&mode)?),
        BenchCommand::Score(args) => return score::run(&args, output),
    };
    report.print(output);
    Ok(())
}
