//! `mission engine …`: the agent CLIs, how they are driven, and agents of one's own.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use missiond_adapters::{
    Drive, ResumeBy, Standing, detect, find_program, install_command, known_engines,
};
use missiond_config::{AddedEngine, Config};
use missiond_core::{CliEngine, Controller, ErrorCode};
use missiond_executions::adapter_of;
use serde::Serialize;
use serde_json::{Value, json};

use super::registry;
use crate::args::{EngineAddArgs, EngineCommand};
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::printable;

/// No entry of a registry comes near this; a whole registry is smaller too.
const MAX_ENTRY: u64 = 4 << 20;

pub(super) fn run(
    command: EngineCommand,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    match command {
        EngineCommand::List => list(reach, output)?,
        EngineCommand::Show { engine } => show(&engine, reach, output)?,
        EngineCommand::Add(args) => add(args, reach, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// An engine as it is on this machine.
#[derive(Debug, Serialize)]
struct EngineView {
    engine: CliEngine,
    program: Option<String>,
    version: Option<String>,
    driven: &'static str,
    why: String,
}

/// Whoever drives it, and why, in one line.
pub(super) fn driven(engine: &CliEngine, config: &Config, path: &str) -> Drive {
    let adapter = adapter_of(engine, &config.engines);
    Drive::of(&*adapter, config.engines.controller(engine), path)
}

/// What drives it, in words.
pub(super) fn way(by: Controller) -> &'static str {
    match by {
        Controller::Structured => "its protocol",
        Controller::Terminal => "its terminal",
    }
}

fn look(engine: &CliEngine, config: &Config) -> EngineView {
    let path = std::env::var("PATH").unwrap_or_default();
    let program = find_program(adapter_of(engine, &config.engines).program(), &path);
    // What was added may do anything when it is asked for its version.
    let is_added = config.engines.added(engine).is_some();
    let version = (!is_added && program.is_some())
        .then(|| detect(engine, &path).ok())
        .flatten();
    let drive = driven(engine, config, &path);
    EngineView {
        engine: engine.clone(),
        program: program.map(|program| program.display().to_string()),
        version: version.map(|found| found.version),
        driven: drive.by.name(),
        why: drive.why,
    }
}

fn configuration(reach: &Reach) -> Result<Config, Failure> {
    Config::load(&reach.home.config_file())
        .map_err(|error| Failure::new(ErrorCode::InvalidConfig, error.to_string()))
}

fn list(reach: &Reach, output: &mut Output) -> Result<(), Failure> {
    let config = configuration(reach)?;
    let added = config.engines.added.iter().map(|added| added.name.clone());
    let engines: Vec<_> = known_engines().iter().cloned().chain(added).collect();
    // Each takes seconds to say who it is.
    let views: Vec<_> = std::thread::scope(|scope| {
        let config = &config;
        let looks: Vec<_> = engines
            .iter()
            .map(|engine| scope.spawn(move || look(engine, config)))
            .collect();
        looks
            .into_iter()
            .filter_map(|look| look.join().ok())
            .collect()
    });
    output.result(&json!({ "engines": views }), |output, _| {
        let rows: Vec<_> = views.iter().map(row).collect();
        output.table(&["ENGINE", "VERSION", "DRIVEN", "WHY"], &rows);
    });
    Ok(())
}

fn row(view: &EngineView) -> Vec<String> {
    let version = match (&view.version, &view.program) {
        (Some(version), _) => version.clone(),
        (None, Some(_)) => "installed".to_owned(),
        (None, None) => "not installed".to_owned(),
    };
    vec![
        view.engine.to_string(),
        printable(&version),
        view.driven.to_owned(),
        printable(&view.why),
    ]
}

fn show(engine: &CliEngine, reach: &Reach, output: &mut Output) -> Result<(), Failure> {
    let config = configuration(reach)?;
    let is_known = known_engines().contains(engine) || config.engines.added(engine).is_some();
    if !is_known {
        let message = format!("there is no engine `{engine}`");
        return Err(Failure::new(ErrorCode::NotFound, message)
            .hint("`mission engine list` lists them, `mission engine add` adds one"));
    }
    let view = look(engine, &config);
    let adapter = adapter_of(engine, &config.engines);
    let offer = adapter.structured();
    let protocol = offer.map(|offer| {
        json!({
            "by": offer.by,
            "standing": match offer.standing {
                Standing::Proven => "proven by tests with the real program",
                Standing::Offered => "offered, not proven by tests",
                Standing::OnlyWay => "the only way: it was added",
            },
            "resume": match offer.resume {
                ResumeBy::Resume => "an earlier conversation goes on without its history",
                ResumeBy::Load => "an earlier conversation goes on with its history told again",
            },
            "install": offer.install,
        })
    });
    let added = config.engines.added(engine);
    let result = json!({
        "engine": view, "protocol": protocol, "added": added,
        "install": install_command(engine),
        "leaves_by": adapter.exit_command(),
        "long_prompts": adapter.accepts_long_prompts(),
        "reads_transcript": adapter.transcript_has_messages(),
    });
    output.result(&result, |output, result| {
        let mut line = |name: &str, value: &Value| {
            let text = match value {
                Value::Null => return,
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            output.line(format!("{name:<14}{}", printable(&text)));
        };
        for (name, member) in [
            ("engine", "engine"),
            ("version", "version"),
            ("program", "program"),
            ("driven by", "driven"),
            ("because", "why"),
        ] {
            line(name, &result["engine"][member]);
        }
        for (name, member) in [
            ("protocol", "by"),
            ("standing", "standing"),
            ("resume", "resume"),
        ] {
            line(name, &result["protocol"][member]);
        }
        line("protocol from", &result["protocol"]["install"]);
        line("installed by", &result["install"]);
        line("leaves by", &result["leaves_by"]);
        line("added as", &result["added"]);
    });
    Ok(())
}

fn add(args: EngineAddArgs, reach: &Reach, output: &mut Output) -> Result<(), Failure> {
    let engine = match (args.from, args.name, args.command) {
        (Some(file), name, _) => {
            let entry: Value = serde_json::from_str(&read(&file)?).map_err(|error| {
                Failure::new(ErrorCode::InvalidParams, format!("it is no JSON: {error}"))
            })?;
            registry::engine(&entry, name.as_ref())
                .map_err(|why| Failure::new(ErrorCode::InvalidParams, why))?
        }
        (None, Some(name), Some(command)) => AddedEngine {
            name,
            command,
            args: args.args,
            env: std::collections::BTreeMap::new(),
        },
        (None, ..) => {
            let message = "say what to call it and its `--command`, or where its entry is";
            return Err(Failure::new(ErrorCode::InvalidParams, message));
        }
    };
    let mut added = configuration(reach)?.engines.added;
    added.retain(|other| other.name != engine.name);
    added.push(engine.clone());
    let value = serde_json::to_value(&added)
        .map_err(|error| Failure::new(ErrorCode::Internal, error.to_string()))?;
    super::config::set("engines.added".to_owned(), value, None, reach)?;
    output.result(&engine, |output, engine| {
        let words = [vec![engine.command.clone()], engine.args.clone()].concat();
        output.line(format!(
            "{} is started as `{}` and driven by the Agent Client Protocol.",
            engine.name,
            printable(&words.join(" "))
        ));
        output.line(format!(
            "Try it with: mission run \"say hello\" --engine {} --wait",
            engine.name
        ));
    });
    Ok(())
}

fn read(file: &Path) -> Result<String, Failure> {
    let failed = |error: std::io::Error| {
        let message = format!("{} cannot be read: {error}", file.display());
        Failure::new(ErrorCode::InvalidParams, message)
    };
    let mut text = String::new();
    if file == Path::new("-") {
        let input = std::io::stdin().lock();
        input.take(MAX_ENTRY).read_to_string(&mut text)
    } else {
        let input = std::fs::File::open(file).map_err(failed)?;
        input.take(MAX_ENTRY).read_to_string(&mut text)
    }
    .map_err(failed)?;
    Ok(text)
}
