//! A Debian with nothing in it but git, to install packages in. It is made once and
//! never written to again: whoever uses it mounts it under a layer of his own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::at_path;
use crate::packages::Apt;
use crate::run;

const RELEASE: &str = "bookworm";
const MIRROR: &str = "http://deb.debian.org/debian";

/// A clean root, or why there is none.
#[derive(Debug)]
pub(super) enum CleanRoot {
    At(PathBuf),
    Impossible(String),
}

/// Makes it, unless it is there. That it cannot be made is said and is no failure: a
/// machine of a developer may have no rights or no network.
pub(crate) fn prepare() -> Result<(), String> {
    let folder = folder()?;
    if fs::exists(complete(&folder)).unwrap_or_default() {
        return Ok(());
    }
    if let Err(reason) = possible().and_then(|()| make(&folder)) {
        println!("no clean root was made: {reason}");
    }
    Ok(())
}

/// The root that [`prepare`] made.
pub(super) fn find() -> Result<CleanRoot, String> {
    let folder = folder()?;
    Ok(if !complete(&folder).is_file() {
        CleanRoot::Impossible("there is no clean root (see above)".to_owned())
    } else if let Err(reason) = possible() {
        CleanRoot::Impossible(reason)
    } else {
        CleanRoot::At(folder)
    })
}

/// A command as root, by sudo where this is not root.
pub(super) fn as_root(program: &str) -> Option<Command> {
    let mut command = Apt::allowed()?.as_root(program);
    // Debian keeps these where the PATH of a person does not lead.
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
    Some(command)
}

/// An error says what is not allowed here.
fn possible() -> Result<(), String> {
    let Some(mut unshare) = as_root("unshare") else {
        return Err("it takes Debian's tools and the rights of root".to_owned());
    };
    let namespaces = ["--mount", "--pid", "--net", "--fork", "true"];
    run::output(unshare.args(namespaces)).map(drop)
}

fn make(folder: &PathBuf) -> Result<(), String> {
    if !fs::exists("/usr/sbin/debootstrap").unwrap_or_default() {
        let Some(apt) = Apt::allowed() else {
            return Err("there is no `debootstrap`".to_owned());
        };
        apt.install(&["debootstrap", "debian-archive-keyring"])?;
    }
    let root = |program| as_root(program).ok_or("the rights of root are gone");
    // What an interrupted run left behind.
    run::output(
        root("rm")?
            .args(["--recursive", "--force", "--one-file-system"])
            .arg(folder),
    )?;
    fs::create_dir_all(folder).map_err(|error| at_path(folder, &error))?;
    let how = ["--variant=minbase", "--include=git", RELEASE];
    run::output(root("debootstrap")?.args(how).arg(folder).arg(MIRROR))?;
    let mark = complete(folder);
    fs::write(&mark, "").map_err(|error| at_path(&mark, &error))
}

fn folder() -> Result<PathBuf, String> {
    Ok(run::target_folder()?.join("clean-root").join(RELEASE))
}

/// The file beside it that says that it is whole.
fn complete(folder: &std::path::Path) -> PathBuf {
    folder.with_extension("complete")
}
