//! `cargo xtask up`: from a clone to a running daemon; where no agent CLI is
//! installed, also to the demo, which needs none.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::{run, web};

/// What the program is made of, in the repository.
const SOURCES: [&str; 10] = [
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "crates",
    "docs",
    "manifests",
    "rust-toolchain.toml",
    "web",
    ".cargo",
];

/// What lies among the sources and is made from them or by installing.
const MADE: [&str; 6] = [
    "node_modules",
    "dist",
    "generated",
    "test-results",
    "screenshots",
    "target",
];

/// Processor time of a clean build, measured by `cargo xtask timings up`.
const CLEAN_BUILD_MINUTES: usize = 12;

pub(crate) fn up(arguments: &[String]) -> Result<(), String> {
    if let Some(argument) = arguments.first() {
        return Err(format!("`cargo xtask up` takes no `{argument}`"));
    }
    let program = run::target_folder()?.join("release").join("mission");
    if fits(&program) {
        println!("mission was built from these sources: it starts in a few seconds.");
    } else {
        println!("{}", expected(&program));
        build(&program)?;
    }
    // Search by meaning needs a model, and a model needs a registry: without
    // one everything else works, and the daemon says what is missing.
    if run::run(Command::new(&program).args(["model", "install"])).is_err() {
        println!("Knowledge is searched by words alone until `mission model install` succeeds.");
    }
    run::run(Command::new(&program).arg("up"))?;
    if !has_agent() {
        println!("\nNo agent CLI is installed here. This is what it looks like with agents that");
        println!("follow scripts:\n");
        run::run(Command::new(&program).arg("demo"))?;
    }
    println!("\nThe program is {}.", program.display());
    println!("`cargo install --path crates/cli` puts it into your PATH.");
    Ok(())
}

fn build(program: &Path) -> Result<(), String> {
    match web::missing() {
        None => web::build()?,
        Some(missing) => println!("mission is built without its web board: {missing}"),
    }
    let began = SystemTime::now();
    run::run(&mut run::cargo(&[
        "build",
        "--release",
        "--package",
        "mission",
    ]))?;
    // Where cargo had nothing to do, for a file that is not part of the program, the
    // program is as good as new.
    let is_older = |about: fs::Metadata| about.modified().is_ok_and(|time| time < began);
    if fs::metadata(program).is_ok_and(is_older) {
        let file = fs::File::options().append(true).open(program);
        file.and_then(|file| file.set_modified(began))
            .map_err(|error| format!("{}: {error}", program.display()))?;
    }
    Ok(())
}

/// The first line: what will take how long.
fn expected(program: &Path) -> String {
    if program.is_file() {
        return "Building what has changed in mission: from seconds to two minutes; then it starts."
            .to_owned();
    }
    first_build(std::thread::available_parallelism().map_or(1, usize::from))
}

fn first_build(cores: usize) -> String {
    // Beyond eight cores the build waits for single crates.
    let minutes = (CLEAN_BUILD_MINUTES / cores.min(8)).max(2);
    format!(
        "Building mission for the first time: about {minutes} minutes on {cores} cores, later \
         builds take seconds; then it starts."
    )
}

/// Whether a program is newer than everything it is made of, and of this version. What
/// cannot be read is taken for changed: building then says what is wrong.
fn fits(program: &Path) -> bool {
    let newest = SOURCES
        .iter()
        .map(|source| newest(&run::root().join(source)))
        .collect::<io::Result<Vec<_>>>()
        .map(|times| times.into_iter().max());
    let built = fs::metadata(program).and_then(|about| about.modified());
    let (Ok(Some(newest)), Ok(built)) = (newest, built) else {
        return false;
    };
    let says = run::output(Command::new(program).arg("version")).unwrap_or_default();
    built > newest && says.split_whitespace().nth(1) == Some(env!("CARGO_PKG_VERSION"))
}

/// When a file, or the newest under a folder, was changed. The time of a folder counts
/// too: it is what a removed file leaves.
fn newest(path: &Path) -> io::Result<SystemTime> {
    let about = match fs::symlink_metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SystemTime::UNIX_EPOCH),
        Err(error) => return Err(error),
    };
    let mut found = about.modified()?;
    if !about.is_dir() {
        return Ok(found);
    }
    let mut is_source_folder = true;
    let mut below = Vec::<PathBuf>::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if MADE.iter().any(|made| entry.file_name() == *made) {
            // Making it changed the time of this folder, and nothing of the program.
            is_source_folder = false;
        } else {
            below.push(entry.path());
        }
    }
    if !is_source_folder {
        found = SystemTime::UNIX_EPOCH;
    }
    for path in below {
        found = found.max(newest(&path)?);
    }
    Ok(found)
}

/// Whether one of the agent CLIs is in PATH.
fn has_agent() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed =
        |name: &str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    [
        "claude", "codex", "gemini", "opencode", "copilot", "qwen", "aider",
    ]
    .iter()
    .any(|name| installed(name))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Every file that is named in quotes behind a word, in a source.
    fn quoted<'a>(source: &'a str, before: &'a str) -> impl Iterator<Item = &'a str> {
        let pieces = source.split(before).skip(1);
        pieces.filter_map(|piece| piece.trim_start().strip_prefix('"')?.split('"').next())
    }

    #[test]
    fn the_first_line_says_what_takes_how_long() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("mission");
        assert!(expected(&program).starts_with("Building mission for the first time"));
        fs::write(&program, "").unwrap();
        assert!(expected(&program).contains("what has changed"));
        assert!(!fits(&program), "it says no version");
        let alone = format!("about {CLEAN_BUILD_MINUTES} minutes on 1 cores");
        assert!(first_build(1).contains(&alone));
        assert!(first_build(64).contains("about 2 minutes on 64 cores"));
    }

    #[test]
    fn all_that_the_program_is_made_of_is_looked_at() {
        let root = run::root().canonicalize().unwrap();
        let mut looked_at = 0;
        for (name, bytes) in web::contents(&root.join("crates")).unwrap() {
            let text = String::from_utf8_lossy(&bytes);
            let is_test = name.to_string_lossy().contains("tests");
            if name.extension().is_none_or(|end| end != "rs") || is_test {
                continue;
            }
            let folder = root.join("crates").join(&name);
            for included in quoted(&text, "include_str!(").chain(quoted(&text, "include_bytes!(")) {
                let Ok(file) = folder.with_file_name(included).canonicalize() else {
                    continue;
                };
                let below = file.strip_prefix(&root).unwrap();
                let first = below.components().next().unwrap().as_os_str();
                let is_listed = SOURCES.iter().any(|source| first == *source);
                assert!(is_listed, "{} includes {}", name.display(), below.display());
                looked_at += 1;
            }
        }
        assert!(looked_at > 20, "{looked_at}");
        // The documentation is listed by a build script.
        let script = fs::read_to_string(root.join("crates/docs/build.rs")).unwrap();
        for file in quoted(&script, "[")
            .chain(quoted(&script, "join("))
            .chain(quoted(&script, ", "))
        {
            if !file.contains("..") && root.join(file).exists() {
                assert!(SOURCES.contains(&file), "{file} is in the program");
            }
        }
        for page in ["docs", "CHANGELOG.md", "CONTRIBUTING.md"] {
            assert!(script.contains(&format!("\"{page}\"")), "{page}");
        }
    }

    #[test]
    fn the_newest_source_counts_and_what_was_made_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let set = |name: &str, seconds| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, name).unwrap();
            let file = fs::File::options().append(true).open(&path).unwrap();
            file.set_modified(at(seconds)).unwrap();
        };
        set("web/src/page.ts", 5_000_000_000);
        set("web/index.html", 4_000_000_000);
        set("web/dist/index.html", 9_000_000_000);
        set("web/node_modules/react/index.js", 9_000_000_000);
        let web = folder.path().join("web");
        assert_eq!(newest(&web).unwrap(), at(5_000_000_000));
        set("web/index.html", 6_000_000_000);
        assert_eq!(newest(&web).unwrap(), at(6_000_000_000));
        let absent = folder.path().join("absent");
        assert_eq!(newest(&absent).unwrap(), SystemTime::UNIX_EPOCH);
    }
}
