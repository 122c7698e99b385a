//! `cargo xtask dist`: from a commit to every file of a release.
//!
//! The same commit gives the same bytes, wherever and whenever it is built with the same
//! compiler and C library; `--check` builds it a second time, in a clone elsewhere, and says
//! whether that holds.

mod archive;
mod build;
mod clean_root;
mod deb;
mod npm;
mod oci;
mod options;
mod package;
mod recipes;
mod release;
mod sbom;
mod sums;
mod tarball;
mod target;
mod trial;
mod upgrade;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use archive::Effort;
use build::Facts;
use minisign::SecretKey;
use options::{Check, Options};
use package::Files;
use release::{Documents, Program, Release};
use target::{Linkage, TARGETS, Target};

pub(crate) use release::timestamp;
pub(crate) use trial::test as try_packages;
pub(crate) use upgrade::upgrade;

use crate::{packages, run, web};

pub(crate) fn dist(arguments: &[String]) -> Result<(), String> {
    let options = Options::parse(arguments)?;
    let target_folder = run::target_folder()?;
    let out = match &options.out {
        Some(out) => out.clone(),
        // Not `dist`: a build with the profile of that name has its own files there.
        None => target_folder.join("release-files"),
    };
    let secret = options.key.as_deref().map(sums::read_key).transpose()?;
    let named = std::env::var(sums::RELEASE_KEY).ok();
    let facts = Facts {
        epoch: release::epoch()?,
        commit: release::commit()?,
        key: sums::release_key(secret.as_ref(), named.as_deref())?,
    };
    if facts.key.is_none() {
        println!(
            "no release key: this release is not signed, and its `mission upgrade` installs \
             nothing without `--key` or `--unsigned`; `--key FILE` signs, {} is the public key \
             of another's signature",
            sums::RELEASE_KEY
        );
    }
    if options.check == Check::Twice {
        refuse_uncommitted()?;
    }
    let files = make(&options, &target_folder, &out, &facts, secret.as_ref())?;
    for (name, size) in &files {
        println!("{:>12}  {}", bytes(*size), out.join(name).display());
    }
    if options.check == Check::Once {
        return Ok(());
    }
    let again = make_elsewhere(&options, &target_folder, &facts)?;
    let different = differences(&out, &again)?;
    if different.is_empty() {
        println!(
            "two builds gave the same bytes, in all {} files",
            files.len()
        );
        Ok(())
    } else {
        Err(format!("two builds differ in {}", different.join(", ")))
    }
}

/// `cargo xtask dist try`: what the test command does with the packages, alone.
pub(crate) fn try_one(arguments: &[String]) -> Result<(), String> {
    let program = match arguments {
        [] => run::target_folder()?.join("debug/mission"),
        [program] => PathBuf::from(program),
        [_, other, ..] => return Err(format!("`cargo xtask dist try` takes no `{other}`")),
    };
    prepare_trial()?;
    try_packages(&program).map(drop)
}

/// What [`try_packages`] wants to have, where it can be had.
pub(crate) fn prepare_trial() -> Result<(), String> {
    packages::install_parsers();
    clean_root::prepare()
}

/// Builds what is to be built in a target folder, and packs it.
fn make(
    options: &Options,
    target_folder: &Path,
    out: &Path,
    facts: &Facts,
    secret: Option<&SecretKey>,
) -> Result<Files, String> {
    let built = programs(options, target_folder, facts)?;
    let here = Target::of_this_machine()?;
    let Some((_, runs_here)) = built
        .iter()
        .find(|(target, _)| target.triple == here.triple)
    else {
        return Err("no program was built that runs here".to_owned());
    };
    let release = step("documents", || {
        let documents = Documents::of(runs_here)?;
        release(options, facts, &built, documents)
    })?;
    step("packages", || package::package(&release, out, secret))
}

/// A second build is of the commit; a first one of more than that would differ.
fn refuse_uncommitted() -> Result<(), String> {
    let mut status = Command::new("git");
    status
        .current_dir(run::root())
        .args(["status", "--porcelain"]);
    if run::output(&mut status)?.trim().is_empty() {
        Ok(())
    } else {
        Err("`--check` builds a commit twice, and here are changes that are in none".to_owned())
    }
}

/// Makes everything once more in a clone, which has another path, another target folder and
/// its own copy of what the page is made of; returns where the files are.
fn make_elsewhere(
    options: &Options,
    target_folder: &Path,
    facts: &Facts,
) -> Result<PathBuf, String> {
    let clone = target_folder.join("dist-check").join("elsewhere");
    if clone.exists() {
        std::fs::remove_dir_all(&clone).map_err(|error| at_path(&clone, &error))?;
    }
    let mut git = Command::new("git");
    git.args(["clone", "--quiet"]).arg(run::root()).arg(&clone);
    run::run(&mut git)?;
    let out = clone.join("target").join("release-files");
    let mut cargo = run::cargo(&["xtask", "dist", "--profile", &options.profile]);
    cargo.current_dir(&clone).arg("--out").arg(&out);
    if let Some(url) = &options.url {
        cargo.args(["--url", url]);
    }
    cargo
        .env(sums::RELEASE_KEY, facts.key.as_deref().unwrap_or_default())
        .env_remove("CARGO_TARGET_DIR");
    run::run(&mut cargo)?;
    Ok(out)
}

/// The program for each machine it can be built for; what is left out is said.
fn programs(
    options: &Options,
    target_folder: &Path,
    facts: &Facts,
) -> Result<Vec<(&'static Target, PathBuf)>, String> {
    let stripped = |target: &'static Target, binary: &Path| {
        let folder = target_folder.join("dist-stripped");
        let copy = folder.join(target.machine).join("mission");
        let strip = || build::stripped(target, binary, &copy);
        step("stripping", strip).map(|()| (target, copy.clone()))
    };
    if let Some(binary) = &options.binary {
        return Ok(vec![stripped(Target::of_this_machine()?, binary)?]);
    }
    step("page of the web board", web::build)?;
    let mut built = Vec::new();
    for target in &TARGETS {
        if let Some(missing) = target.missing() {
            println!("{} is left out: {missing}", target.machine);
            continue;
        }
        let program = step(&format!("program for {}", target.machine), || {
            build::program(target, &options.profile, target_folder, facts)
        })?;
        built.push(stripped(target, &program)?);
    }
    Ok(built)
}

fn release(
    options: &Options,
    facts: &Facts,
    built: &[(&'static Target, PathBuf)],
    documents: Documents,
) -> Result<Release, String> {
    let metadata = run::metadata()?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let mission = packages
        .into_iter()
        .find(|package| package["name"] == "mission")
        .ok_or("cargo knows no package `mission`")?;
    let text = |key: &str| mission[key].as_str().unwrap_or_default().to_owned();
    let programs = built
        .iter()
        .map(|(target, file)| Program::read(target, file))
        .collect::<Result<Vec<_>, _>>()?;
    let is_dynamic = |program: &Program| program.linkage == Linkage::Dynamic;
    if options.binary.is_none() && programs.iter().any(is_dynamic) {
        return Err("the program was not linked statically".to_owned());
    }
    let version = text("version");
    let url = match &options.url {
        Some(url) => url.clone(),
        None => {
            // A name that nobody can own: whoever installs from it by mistake gets nothing.
            println!("mission.rb and flake.nix name no real address: give one with `--url`");
            format!("https://missiond.invalid/v{version}")
        }
    };
    Ok(Release {
        version,
        licence: text("license"),
        epoch: facts.epoch,
        key: facts.key.clone(),
        url,
        effort: Effort::Thorough,
        programs,
        documents,
    })
}

/// Names of the files that are not the same in both folders. The signature is not
/// looked at: it is over the list of checksums, which is.
fn differences(one: &Path, other: &Path) -> Result<Vec<String>, String> {
    let (mut one, other) = (web::contents(one)?, web::contents(other)?);
    let mut different = Vec::new();
    for (name, bytes) in other {
        if one.remove(&name) != Some(bytes) {
            different.push(name.display().to_string());
        }
    }
    different.extend(one.into_keys().map(|name| name.display().to_string()));
    different.retain(|name| name != sums::SIGNATURE);
    Ok(different)
}

/// Does it, and says how long it took.
fn step<T>(name: &str, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let began = Instant::now();
    let done = work().map_err(|error| format!("{name}: {error}"))?;
    println!("{name}: {:.1} s", began.elapsed().as_secs_f64());
    Ok(done)
}

/// A size as people read it.
fn bytes(size: u64) -> String {
    match size {
        0..10_000 => format!("{size} B"),
        10_000..1_000_000 => format!("{} kB", size / 1_000),
        _ => format!("{:.1} MB", size as f64 / 1e6),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn at_path(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
