//! The archive for any Linux: a prefix, to be unpacked into `~/.local` or `/usr/local`.

use std::io;

use super::archive::{Tree, gzip};
use super::release::{Program, Release};

pub(super) fn name(release: &Release, program: &Program) -> String {
    format!("{}.tar.gz", folder(release, program))
}

/// The one folder that is in it.
fn folder(release: &Release, program: &Program) -> String {
    format!(
        "mission-{}-{}-linux",
        release.version, program.target.machine
    )
}

pub(super) fn archive(release: &Release, program: &Program) -> io::Result<Vec<u8>> {
    let folder = folder(release, program);
    let documents = &release.documents;
    let mut tree = Tree::default();
    tree.program(format!("{folder}/bin/mission"), &program.bytes);
    tree.file(
        format!("{folder}/share/man/man1/mission.1"),
        &documents.manual,
    );
    documents.completions(&mut tree, &format!("{folder}/"), "share/zsh/site-functions");
    let about = format!("{folder}/share/doc/mission");
    tree.file(format!("{about}/README.md"), &documents.readme);
    for (name, licence) in &documents.licences {
        tree.file(format!("{about}/{name}"), licence);
    }
    gzip(&tree.tar("", release.epoch)?, release.effort)
}
