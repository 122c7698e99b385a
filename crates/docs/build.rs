//! Lists the pages of `docs/`, the changelog and the notes for contributors, and
//! writes the list of them as Rust.
#![allow(
    clippy::print_stdout,
    reason = "this is how a build script tells cargo"
)]

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Pages that are not below `docs/`.
const OUTSIDE: [&str; 2] = ["CHANGELOG.md", "CONTRIBUTING.md"];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let root = variable("CARGO_MANIFEST_DIR")?
        .join("../..")
        .canonicalize()?;
    let docs = root.join("docs");
    println!("cargo::rerun-if-changed={}", docs.display());
    let mut files = Vec::new();
    collect(&docs, &mut files)?;
    for name in OUTSIDE {
        let file = root.join(name);
        println!("cargo::rerun-if-changed={}", file.display());
        files.push(file);
    }
    files.sort();
    let mut code = String::from("static EMBEDDED: &[(&str, &str)] = &[\n");
    for file in &files {
        let name = file.strip_prefix(&root).map_err(io::Error::other)?;
        let (name, file) = (name.display().to_string(), file.display().to_string());
        writeln!(code, "    ({name:?}, include_str!({file:?})),").map_err(io::Error::other)?;
    }
    code.push_str("];\n");
    fs::write(variable("OUT_DIR")?.join("embedded.rs"), code)
}

fn variable(name: &str) -> io::Result<PathBuf> {
    let value = std::env::var_os(name);
    value
        .map(PathBuf::from)
        .ok_or_else(|| io::Error::other(format!("cargo sets {name}")))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    Ok(())
}
