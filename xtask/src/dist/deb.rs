//! The package for Debian and Ubuntu, written here: dpkg's own tools are not everywhere
//! and put more into a package than is wanted.

use std::fmt::Write as _;
use std::io;

use md5::{Digest, Md5};

use super::archive::{Effort, Tree, ar, gzip};
use super::release::{Program, Release, SUMMARY};
use super::target::Linkage;

pub(super) fn name(release: &Release, program: &Program) -> String {
    format!("mission_{}_{}.deb", release.version, program.target.debian)
}

pub(super) fn archive(release: &Release, program: &Program) -> io::Result<Vec<u8>> {
    let documents = &release.documents;
    let manual = gzip(&documents.manual, Effort::Thorough)?;
    let copyright = copyright(release);
    let mut data = Tree::default();
    data.program("usr/bin/mission", &program.bytes);
    data.file("usr/share/man/man1/mission.1.gz", &manual);
    documents.completions(&mut data, "usr/", "share/zsh/vendor-completions");
    data.file("usr/share/doc/mission/README.md", &documents.readme);
    data.file("usr/share/doc/mission/copyright", &copyright);

    let (mut sums, mut size) = (String::new(), 0);
    for (path, bytes) in data.files() {
        let digest = super::hex(&Md5::digest(bytes));
        // Writing to a text cannot fail.
        let _ = writeln!(sums, "{digest}  {path}");
        size += bytes.len().div_ceil(1024);
    }
    let control = control(release, program, size);
    let mut about = Tree::default();
    about.file("control", control.as_bytes());
    about.file("md5sums", sums.as_bytes());
    let about = gzip(&about.tar("./", release.epoch)?, release.effort)?;
    let data = gzip(&data.tar("./", release.epoch)?, release.effort)?;
    Ok(ar(
        &[
            ("debian-binary", b"2.0\n"),
            ("control.tar.gz", &about),
            ("data.tar.gz", &data),
        ],
        release.epoch,
    ))
}

fn control(release: &Release, program: &Program, size: usize) -> String {
    // A static program needs nothing; git is needed for everything that concerns
    // repositories, and is what most people who install this have.
    let depends = match program.linkage {
        Linkage::Static => "",
        Linkage::Dynamic => "Depends: libc6, libgcc-s1\n",
    };
    format!(
        "Package: mission\n\
         Version: {}\n\
         Architecture: {}\n\
         Maintainer: The missiond authors <missiond@localhost>\n\
         Installed-Size: {size}\n\
         {depends}\
         Recommends: git (>= 1:2.38)\n\
         Section: devel\n\
         Priority: optional\n\
         Description: {SUMMARY}\n \
         mission starts the coding agents that are installed, each in a terminal and a\n \
         worktree of its own, gives them tasks, checks what they did, and shows which of\n \
         them needs a person.\n",
        release.version, program.target.debian
    )
}

/// All licences in one file, which is where Debian looks for them.
fn copyright(release: &Release) -> Vec<u8> {
    let mut text = format!("mission is licensed under {}.\n", release.licence).into_bytes();
    for (name, licence) in &release.documents.licences {
        text.extend(format!("\n--- {name} ---\n\n").bytes());
        text.extend(licence);
    }
    text
}
