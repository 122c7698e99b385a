//! What the wall costs: how much later a program begins behind it, and how much slower a
//! build is. Both are measured in turns with the same outside.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use missiond_console::failure::Failure;
use missiond_core::ErrorCode;
use missiond_os::environment::own_text;
use missiond_os::programs::find_program;
use missiond_sandbox::{Network, Place, Profile};

use crate::{Mission, Report, millis, percentile};

/// Crates of the build.
const CRATES: usize = 6;
/// Functions of each.
const FUNCTIONS: usize = 150;

/// How often each is done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rounds {
    pub(super) starts: u32,
    pub(super) builds: u32,
}

pub(super) fn measure(
    report: &mut Report,
    rounds: Rounds,
    mission: &Mission,
) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let variables: BTreeMap<String, String> = own_text().collect();
    let bench = Bench {
        folder: folder.path(),
        variables,
        mission,
    };
    report.condition("sandbox_starts", rounds.starts);
    report.condition("sandbox_builds", rounds.builds);
    let nothing = ["/bin/true"];
    for (name, network) in [("", Network::None), ("_host_network", Network::Host)] {
        let (mut bare, mut walled) = (Vec::new(), Vec::new());
        for _ in 0..rounds.starts {
            bare.push(bench.outside(&nothing)?);
            walled.push(bench.inside(&nothing, &network)?);
        }
        let (bare, walled) = (percentile(&mut bare, 0.5), percentile(&mut walled, 0.5));
        let added = walled.saturating_sub(bare);
        report.metric(format!("sandbox_start{name}_ms"), millis(added));
    }
    let path = bench.variables.get("PATH").map_or("", String::as_str);
    let Some(cargo) = find_program("cargo", path) else {
        report.condition("build", "not measured: there is no cargo");
        return Ok(());
    };
    write_crates(folder.path())?;
    report.condition("build", format!("{CRATES} crates by cargo, best of each"));
    let cargo = cargo.display().to_string();
    let build = [cargo.as_str(), "build", "--offline", "--quiet"];
    let target = folder.path().join("target");
    let (mut outside, mut inside) = (Duration::MAX, Duration::MAX);
    for _ in 0..rounds.builds {
        let _ = std::fs::remove_dir_all(&target);
        outside = outside.min(bench.outside(&build)?);
        let _ = std::fs::remove_dir_all(&target);
        inside = inside.min(bench.inside(&build, &Network::None)?);
    }
    report.exact("build_ratio", outside.as_secs_f64() / inside.as_secs_f64());
    Ok(())
}

struct Bench<'a> {
    folder: &'a Path,
    variables: BTreeMap<String, String>,
    mission: &'a Mission,
}

impl Bench<'_> {
    fn outside(&self, argv: &[&str]) -> Result<Duration, Failure> {
        let mut command = Command::new(argv[0]);
        command
            .args(&argv[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        time(command.current_dir(self.folder).stderr(Stdio::piped()))
    }

    /// With the plan, which is made for every run.
    fn inside(&self, argv: &[&str], network: &Network) -> Result<Duration, Failure> {
        let began = Instant::now();
        let mut place = Place::new(Profile::Guarded, self.folder);
        place.network = network.clone();
        let program = Path::new(argv[0]);
        let wall = place.wall(program, &self.variables)?;
        let wall = wall.ok_or_else(|| Failure::new(ErrorCode::Internal, "there is no wall"))?;
        let walled = wall.command(program)?;
        // It names the program that runs, which is this one.
        let mut command = self.mission.command(self.folder, &[])?;
        command.args(walled.arguments).args(&argv[1..]);
        command.env(walled.variable.0, walled.variable.1);
        time(command.current_dir(self.folder))?;
        Ok(began.elapsed())
    }
}

fn time(command: &mut Command) -> Result<Duration, Failure> {
    let began = Instant::now();
    let output = command.output()?;
    let took = began.elapsed();
    if output.status.success() {
        return Ok(took);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let message = format!("{command:?} ended with {}: {said}", output.status);
    Err(Failure::new(ErrorCode::Internal, message))
}

/// A workspace that needs nothing from elsewhere.
fn write_crates(folder: &Path) -> Result<(), Failure> {
    let members: Vec<_> = (0..CRATES)
        .map(|number| format!("\"part{number}\""))
        .collect();
    let members = members.join(", ");
    let workspace = format!("[workspace]\nresolver = \"2\"\nmembers = [{members}]\n");
    std::fs::write(folder.join("Cargo.toml"), workspace)?;
    for number in 0..CRATES {
        let part = folder.join(format!("part{number}"));
        std::fs::create_dir_all(part.join("src"))?;
        let manifest = format!(
            "[package]\nname = \"part{number}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"
        );
        std::fs::write(part.join("Cargo.toml"), manifest)?;
        let mut source = String::new();
        for function in 0..FUNCTIONS {
            let _ = writeln!(
                source,
                "pub fn f{function}(text: &str) -> Vec<String> {{\n    \
                 let mut all: Vec<String> = text.lines().map(str::to_owned).collect();\n    \
                 all.sort();\n    all.dedup();\n    all.push({function}.to_string());\n    all\n}}"
            );
        }
        std::fs::write(part.join("src/lib.rs"), source)?;
    }
    Ok(())
}
