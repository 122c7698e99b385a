//! The package for npm: the program itself is the command, without a script around it
//! and without a download when it is installed.

use std::io;

use serde_json::json;

use super::archive::{Tree, gzip};
use super::release::{Program, Release, SUMMARY};

/// The package for most machines has the short name; npm lets one package have one
/// program, and chooses by `os` and `cpu` whether it may be installed.
fn package(program: &Program) -> String {
    match program.target.node {
        "x64" => "missiond".to_owned(),
        other => format!("missiond-linux-{other}"),
    }
}

pub(super) fn name(release: &Release, program: &Program) -> String {
    format!("{}-{}.tgz", package(program), release.version)
}

pub(super) fn archive(release: &Release, program: &Program) -> io::Result<Vec<u8>> {
    let about = json!({
        "name": package(program),
        "version": release.version,
        "description": SUMMARY,
        "license": release.licence,
        "bin": { "mission": "bin/mission" },
        "man": ["./man/mission.1"],
        "os": ["linux"],
        "cpu": [program.target.node],
    });
    let mut about = serde_json::to_vec_pretty(&about)?;
    about.push(b'\n');
    let documents = &release.documents;
    let mut tree = Tree::default();
    tree.file("package/package.json", &about);
    tree.program("package/bin/mission", &program.bytes);
    tree.file("package/man/mission.1", &documents.manual);
    documents.completions(&mut tree, "package/", "share/zsh/site-functions");
    tree.file("package/README.md", &documents.readme);
    for (name, licence) in &documents.licences {
        tree.file(format!("package/{name}"), licence);
    }
    gzip(&tree.tar("", release.epoch)?, release.effort)
}
