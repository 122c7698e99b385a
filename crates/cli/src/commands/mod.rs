//! The commands. Each asks the daemon and shows the answer; none decides.

mod acp;
mod agent_link;
mod attach;
mod attention;
mod audit;
mod autopilot;
mod bench;
mod bridge;
mod call;
mod code;
mod config;
mod context;
mod conversation;
mod daemon;
mod demo;
mod docs;
mod doctor;
mod engine;
mod execution;
mod guard;
mod hook;
mod inbox;
mod incident;
mod init;
mod journal;
mod kb;
mod kb_show;
mod kb_transfer;
mod live;
mod llm;
mod logs;
mod mcp;
mod model;
mod permission;
mod picture;
mod policy;
mod registry;
mod rehearse;
mod review;
mod run;
mod sandbox;
mod search;
mod seconds;
mod semantic;
mod service;
mod shell;
mod signals;
mod slot;
mod startable;
mod status;
mod task;
mod timeline;
mod trust;
mod uninstall;
mod upgrade;
mod usage;
mod web;
mod worktree;

use std::process::ExitCode;

use crate::args::ExecutionCommand;
use crate::args::{AuditCommand, Cli, Command};
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;

pub(crate) use attach::DetachKey;
pub(crate) use config::way_out;

pub(crate) fn run(cli: Cli, output: &mut Output) -> Result<ExitCode, Failure> {
    let start = !cli.no_start;
    let Some(command) = cli.command else {
        return status::bare(&Reach::from_env(start)?, output);
    };
    match command {
        Command::Version => return shell::version(output),
        Command::Completions { shell } => return shell::completions(shell, output),
        Command::Man => return shell::man(output),
        Command::Semantic(command) => return semantic::run(&command, output),
        Command::Guard(command) => return guard::run(&command, output),
        Command::Journal(command) => return journal::run(command, output),
        Command::Audit(command) if !matches!(command, AuditCommand::RotateKey) => {
            return audit::run(command, output);
        }
        Command::Model(command) => return model::run(&command, output),
        Command::Execution(ExecutionCommand::Mcp(args)) => return bridge::run(&args.access_file),
        Command::Hook(args) => return Ok(hook::run(&args)),
        Command::Rehearse(args) => return rehearse::run(args, output),
        Command::Demo(args) => return demo::run(&args, output),
        Command::McpKeep(args) => return Ok(missiond_toolhub::keep(args.parent, &args.argv)?),
        Command::PtyHost => {
            missiond_pty::host::run()?;
            return Ok(ExitCode::SUCCESS);
        }
        Command::Sandbox(command) => return sandbox::run(command, output),
        Command::Bench(args) => return bench::run(&args, output),
        Command::Docs(args) if !args.web => return docs::run(args, output),
        _ => {}
    }
    let reach = Reach::from_env(start)?;
    match command {
        Command::Up => status::up(&reach, output),
        Command::Down => daemon::stop(&reach, crate::process::Force::Ask, output),
        Command::Status(args) => status::status(&args, &reach, output),
        Command::Review(args) => review::run(&args, &reach, output),
        Command::Logs(args) => logs::logs(&args, &reach, output),
        Command::Init(args) => init::run(&args, &reach.home, output),
        Command::Doctor => doctor::doctor(&reach, output),
        Command::Daemon(command) => daemon::run(command, &reach, output),
        Command::Upgrade(args) => upgrade::run(&args, &reach.home, output),
        Command::Uninstall(args) => uninstall::run(&args, &reach.home, output),
        Command::Timeline(command) => timeline::run(command, &reach, output),
        Command::Incident(command) => incident::run(&command, &reach, output),
        Command::Config(command) => config::run(command, &reach, output),
        Command::Engine(command) => engine::run(command, &reach, output),
        Command::Usage(args) => usage::run(&args, &reach, output),
        Command::Run(args) => run::run(args, &reach, output),
        Command::Execution(command) => execution::run(command, &reach, output),
        Command::Inbox(args) => attention::inbox(&args, &reach, output),
        Command::Answer(args) => attention::answer(args, &reach, output),
        Command::Dismiss(args) => attention::dismiss(args, &reach, output),
        Command::Permission(command) => permission::run(command, &reach, output),
        Command::Trust(command) => trust::run(command, &reach, output),
        Command::Audit(_) => audit::rotate_key(&reach, output),
        Command::Policy(command) => policy::run(command, &reach, output),
        Command::Open(args) => web::open(&args, &reach, output),
        Command::Token(command) => web::token(command, &reach, output),
        Command::Autopilot(command) => autopilot::run(command, &reach, output),
        Command::Slot(command) => slot::run(command, &reach, output),
        Command::Docs(args) => docs::open(&args, &reach, output),
        Command::Search(args) => search::run(args, &reach, output),
        Command::Task(command) => task::run(command, &reach, output),
        Command::Worktree(command) => worktree::run(command, &reach, output),
        Command::Code(args) => code::run(args, &reach, output),
        Command::Context(command) => context::run(command, &reach, output),
        Command::Skill(command) => context::skill(command, &reach, output),
        Command::Conversation(command) => conversation::run(command, &reach, output),
        Command::Kb(command) => kb::run(command, &reach, output),
        Command::Llm(command) => llm::run(command, &reach, output),
        Command::Call(args) => call::call(args, &reach, output),
        Command::Acp(args) => acp::run(args, &reach, output),
        Command::Mcp(args) => mcp::run(args, &reach, output),
        Command::Rehearse(_) | Command::Hook(_) | Command::Demo(_) | Command::McpKeep(_) => {
            Ok(ExitCode::SUCCESS)
        }
        Command::Completions { .. }
        | Command::Man
        | Command::Version
        | Command::Semantic(_)
        | Command::Guard(_)
        | Command::Journal(_)
        | Command::Model(_)
        | Command::Bench(_)
        | Command::Sandbox(_)
        | Command::PtyHost => Ok(ExitCode::SUCCESS),
    }
}
