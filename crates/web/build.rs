//! Finds the files of `web/dist`, compresses what is worth it, and writes the
//! list of them as Rust. Without `web/dist` the list is empty.
#![allow(
    clippy::print_stdout,
    reason = "this is how a build script tells cargo"
)]

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed=MISSION_WEB_DIST");
    println!("cargo::rerun-if-changed=build.rs");
    let dist = match std::env::var_os("MISSION_WEB_DIST") {
        Some(folder) => PathBuf::from(folder),
        None => variable("CARGO_MANIFEST_DIR")?.join("../../web/dist"),
    };
    let out = variable("OUT_DIR")?;
    let mut files = Vec::new();
    // Named only when it is there: a path that does not exist counts as changed
    // at every build. `cargo xtask web` touches this file when it makes it.
    if dist.join("index.html").is_file() {
        println!("cargo::rerun-if-changed={}", dist.display());
        collect(&dist, &dist, &mut files)?;
    }
    files.sort();
    let mut code = String::from("static ASSETS: &[Asset] = &[\n");
    for (path, file) in &files {
        let compressed = ["gz", "br"]
            .iter()
            .any(|kind| path.ends_with(&format!(".{kind}")));
        if !compressed {
            describe(path, file, &out, &mut code)?;
        }
    }
    code.push_str("];\n");
    fs::write(out.join("assets.rs"), code)
}

fn variable(name: &str) -> io::Result<PathBuf> {
    let value = std::env::var_os(name);
    value
        .map(PathBuf::from)
        .ok_or_else(|| io::Error::other(format!("cargo sets {name}")))
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            collect(root, &path, files)?;
        } else if let Ok(below) = path.strip_prefix(root) {
            let name = below.to_string_lossy().replace('\\', "/");
            files.push((name, path.canonicalize()?));
        }
    }
    Ok(())
}

fn describe(path: &str, file: &Path, out: &Path, code: &mut String) -> io::Result<()> {
    let bytes = fs::read(file)?;
    let digest = Sha256::digest(&bytes);
    let etag: String = digest[..12]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let brotli = beside(file, "br");
    let gzip = match beside(file, "gz") {
        Some(made) => Some(made),
        None if is_text(path) => compressed(&bytes, &out.join(format!("{etag}.gz")))?,
        None => None,
    };
    let included = |file: &Option<PathBuf>| match file {
        Some(file) => format!("Some(include_bytes!({:?}))", file.display().to_string()),
        None => "None".to_owned(),
    };
    writeln!(
        code,
        "    Asset {{ path: {path:?}, content_type: {:?}, etag: \"\\\"{etag}\\\"\", \
         body: include_bytes!({:?}), gzip: {}, brotli: {} }},",
        content_type(path),
        file.display().to_string(),
        included(&gzip),
        included(&brotli),
    )
    .map_err(io::Error::other)
}

fn beside(file: &Path, kind: &str) -> Option<PathBuf> {
    let made = PathBuf::from(format!("{}.{kind}", file.display()));
    made.is_file().then_some(made)
}

/// The compressed form, if it is smaller.
fn compressed(bytes: &[u8], place: &Path) -> io::Result<Option<PathBuf>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes)?;
    let made = encoder.finish()?;
    if made.len() >= bytes.len() {
        return Ok(None);
    }
    fs::write(place, made)?;
    Ok(Some(place.to_owned()))
}

fn is_text(path: &str) -> bool {
    let kind = content_type(path);
    kind.starts_with("text/") || kind.contains("json") || kind.contains("svg")
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, kind)| kind) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "wasm" => "application/wasm",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
