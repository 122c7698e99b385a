//! `cargo xtask timings`: what a developer waits for, measured.
//!
//! Everything is measured in clones of the last commit in a folder of their own,
//! which is gone afterwards: neither the work tree nor its builds are touched, and
//! nothing that was built before helps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{report, run};

/// The crates whose change is measured: the name in the figure, and the package.
const TOUCHED: [(&str, &str); 3] = [
    ("slots", "missiond-slots"),
    ("autopilot", "missiond-autopilot"),
    ("api", "missiond-api"),
];

/// What can be measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Up,
    Test,
    Touch,
}

/// The figures by their names, and what could not be measured.
#[derive(Debug, Default)]
struct Figures {
    seconds: BTreeMap<String, Option<f64>>,
    notes: Vec<String>,
}

pub(crate) fn timings(arguments: &[String]) -> Result<(), String> {
    let mut parts = Vec::new();
    let mut as_json = false;
    for argument in arguments {
        match argument.as_str() {
            "--json" => as_json = true,
            "up" => parts.push(Part::Up),
            "test" => parts.push(Part::Test),
            "touch" => parts.push(Part::Touch),
            other => return Err(format!("`cargo xtask timings` takes no `{other}`")),
        }
    }
    if parts.is_empty() {
        parts = vec![Part::Up, Part::Test, Part::Touch];
    }
    let conditions = conditions()?;
    let mut figures = Figures::default();
    let folder = Folder::new()?;
    for part in parts {
        match part {
            Part::Up => measure_up(&folder, &mut figures)?,
            Part::Test => measure_test(&folder, &mut figures)?,
            Part::Touch => measure_touch(&folder, &mut figures)?,
        }
    }
    if as_json {
        let mut all = conditions;
        for (name, seconds) in &figures.seconds {
            all[name.as_str()] = json!(seconds);
        }
        all["notes"] = json!(figures.notes);
        println!("{all:#}");
    } else {
        for (name, condition) in conditions.as_object().into_iter().flatten() {
            println!("{name:<26}{condition}");
        }
        for (name, seconds) in &figures.seconds {
            match seconds {
                Some(seconds) => println!("{name:<26}{seconds:.1}"),
                None => println!("{name:<26}not measured"),
            }
        }
        for note in &figures.notes {
            println!("{note}");
        }
    }
    Ok(())
}

/// What the figures depend on beside the code.
fn conditions() -> Result<Value, String> {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        run::output(command.args(arguments).current_dir(run::root()))
    };
    let load = std::fs::read_to_string("/proc/loadavg").ok();
    let load = load.as_deref().and_then(|load| load.split(' ').next());
    Ok(json!({
        "commit": git(&["rev-parse", "HEAD"])?.trim(),
        "uncommitted_changes": !git(&["status", "--porcelain"])?.is_empty(),
        "cores": std::thread::available_parallelism().map(usize::from).ok(),
        "load_average_before": load.and_then(|load| load.parse::<f64>().ok()),
        "rustc": run::output(Command::new("rustc").arg("--version"))?.trim(),
        "profiles": "up: release; test, touch: dev",
    }))
}

/// A clean `cargo xtask up` to the program, without downloads and without
/// starting it: the developer commands, the page and the release build.
fn measure_up(folder: &Folder, figures: &mut Figures) -> Result<(), String> {
    let clone = folder.clone_head("up")?;
    // Crates and packages are fetched before; what that builds is not kept.
    let fetching = clone.join("fetching");
    run::output(&mut cargo(&clone, &["fetch", "--locked"]))?;
    run::output(cargo(&clone, &["xtask", "web"]).env("CARGO_TARGET_DIR", &fetching))?;
    for made in [fetching, clone.join("web/dist")] {
        std::fs::remove_dir_all(&made).map_err(|error| format!("{}: {error}", made.display()))?;
    }
    let (began, before) = (Instant::now(), report::processor_time());
    progress("the page and the release build");
    run::output(&mut cargo(&clone, &["xtask", "web"]))?;
    let release = ["build", "--release", "--package", "mission"];
    run::output(&mut cargo(&clone, &release))?;
    let processor = report::processor_time().zip(before);
    let processor = processor.map(|(after, before)| after.saturating_sub(before));
    figures.add("up_wall_s", Some(began.elapsed()));
    figures.add("up_cpu_s", processor);
    if processor.is_none() {
        figures.note("up_cpu_s: this system does not say how long processes computed");
    }
    Ok(())
}

/// The whole test command: in a clean clone, and again with the dependencies
/// built and our own crates not.
fn measure_test(folder: &Folder, figures: &mut Figures) -> Result<(), String> {
    let clone = folder.clone_head("test")?;
    run::output(&mut cargo(&clone, &["fetch", "--locked"]))?;
    for name in ["test_wall_s", "test_warm_wall_s"] {
        progress(&format!("{name}: the test command"));
        let began = Instant::now();
        let ran = run::output(&mut cargo(&clone, &["xtask", "test"]));
        figures.add(name, Some(began.elapsed()));
        if let Err(error) = ran {
            let last: Vec<_> = error.lines().rev().take(5).collect();
            let last: Vec<_> = last.into_iter().rev().collect();
            figures.note(&format!(
                "{name}: there were failures: {}",
                last.join(" / ")
            ));
        }
        let mut clean = cargo(&clone, &["clean"]);
        for package in members(&clone)? {
            clean.args(["--package", &package.name]);
        }
        run::output(&mut clean)?;
    }
    Ok(())
}

/// From one changed line to a passed unit test of that crate, and to a program
/// that runs.
fn measure_touch(folder: &Folder, figures: &mut Figures) -> Result<(), String> {
    let clone = folder.clone_head("touch")?;
    let members = members(&clone)?;
    let program = clone.join("target/debug/mission");
    let start = |figures: &mut Figures, name: String| {
        let began = Instant::now();
        run::output(&mut cargo(&clone, &["build", "--package", "mission"]))?;
        run::output(Command::new(&program).arg("--version"))?;
        figures.add(&name, Some(began.elapsed()));
        Ok::<_, String>(())
    };
    let mut is_built = false;
    for (name, package) in TOUCHED {
        let figure = |kind: &str| format!("touch_{name}_{kind}");
        let Some(root) = members
            .iter()
            .find(|member| member.name == package)
            .and_then(|member| member.library.as_ref())
        else {
            figures.add(&figure("s"), None);
            figures.add(&figure("run_s"), None);
            figures.note(&format!("there is no crate {package} in this commit"));
            continue;
        };
        if !is_built {
            progress("building mission for the first time");
            start(&mut Figures::default(), String::new())?;
            is_built = true;
        }
        progress(&format!("{package}: building its tests for the first time"));
        let listed = cargo(
            &clone,
            &["test", "--package", package, "--lib", "--", "--list"],
        );
        let listed = run::output(&mut { listed })?;
        let first = listed.lines().find_map(|line| line.strip_suffix(": test"));
        match first {
            Some(test) => {
                progress(&format!("{package}: {test} after a change"));
                change(root, "test")?;
                let began = Instant::now();
                let run = ["test", "--package", package, "--lib", "--", "--exact", test];
                run::output(&mut cargo(&clone, &run))?;
                figures.add(&figure("s"), Some(began.elapsed()));
            }
            None => {
                figures.add(&figure("s"), None);
                figures.note(&format!("{package} has no unit test"));
            }
        }
        progress(&format!("{package}: mission after a change"));
        change(root, "program")?;
        start(figures, figure("run_s"))?;
    }
    Ok(())
}

/// Appends a line of code: a comment alone might be seen to change nothing.
fn change(file: &Path, name: &str) -> Result<(), String> {
    let problem = |error: std::io::Error| format!("{}: {error}", file.display());
    let mut text = std::fs::read_to_string(file).map_err(problem)?;
    text += &format!("#[allow(dead_code)] fn changed_for_the_{name}() -> u32 {{ 1 }}\n");
    std::fs::write(file, text).map_err(problem)
}

/// A package of a clone.
struct Member {
    name: String,
    library: Option<PathBuf>,
}

fn members(clone: &Path) -> Result<Vec<Member>, String> {
    let arguments = ["metadata", "--no-deps", "--format-version", "1"];
    let metadata = run::output(&mut cargo(clone, &arguments))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array();
    let member = |package: &Value| {
        let targets = package["targets"].as_array();
        let library = targets
            .into_iter()
            .flatten()
            .find(|target| target["kind"][0] == "lib")
            .and_then(|target| target["src_path"].as_str());
        Member {
            name: package["name"].as_str().unwrap_or_default().to_owned(),
            library: library.map(PathBuf::from),
        }
    };
    Ok(packages.into_iter().flatten().map(member).collect())
}

/// A cargo that knows nothing of the one that runs this.
fn cargo(clone: &Path, arguments: &[&str]) -> Command {
    let mut command = run::cargo(arguments);
    command.current_dir(clone).env_remove("CARGO_TARGET_DIR");
    command
}

fn progress(what: &str) {
    eprintln!("timings: {what}");
}

impl Figures {
    fn add(&mut self, name: &str, took: Option<Duration>) {
        let seconds = took.map(|took| (took.as_secs_f64() * 10.0).round() / 10.0);
        self.seconds.insert(name.to_owned(), seconds);
    }

    fn note(&mut self, text: &str) {
        self.notes.push(text.to_owned());
    }
}

/// Where the clones are; gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, String> {
        let name = format!("missiond-timings-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }

    fn clone_head(&self, name: &str) -> Result<PathBuf, String> {
        let clone = self.0.join(name);
        progress(&format!("a clone of HEAD in {}", clone.display()));
        let head = ["rev-parse", "HEAD"];
        let head = run::output(Command::new("git").args(head).current_dir(run::root()))?;
        let mut git = Command::new("git");
        git.args(["clone", "--quiet", "--no-checkout"]);
        run::output(git.arg(run::root()).arg(&clone))?;
        let mut checkout = Command::new("git");
        checkout.args(["checkout", "--quiet", head.trim()]);
        run::output(checkout.current_dir(&clone))?;
        Ok(clone)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
