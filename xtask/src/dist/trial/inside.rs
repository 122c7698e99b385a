//! One package in the clean root, and what came of it.

use std::fmt;
use std::path::{Path, PathBuf};

use super::super::clean_root;
use super::super::target::Linkage;
use crate::run;

/// Seconds in which a package has to be installed. A program that is linked dynamically is
/// one of the tests', not stripped of what debugs it and on a machine that is busy with
/// others: of it the time is said and no more.
const AIM: f64 = 20.0;

const SCRIPT: &str = include_str!("in_clean_root.sh");

/// A package to be tried, and how a person comes to use it.
#[derive(Debug)]
pub(super) struct Trial {
    pub(super) kind: &'static str,
    pub(super) file: PathBuf,
    /// What the README has a person type to install it, if it is installed by typing.
    pub(super) install: String,
    /// What it has a person type to use it without that, if there is such a way.
    pub(super) uninstalled: String,
}

/// What the script measured and found.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tried {
    version: String,
    install: f64,
    demo: f64,
    /// What is there after the package was removed and was not there before.
    left: Vec<String>,
    /// What the package took with it.
    lost: Vec<String>,
    said: Vec<String>,
}

/// Installs, uses and removes a package.
pub(super) fn run(
    trial: &Trial,
    linkage: Linkage,
    root: &Path,
    work: &Path,
) -> Result<Tried, String> {
    let linkage = match linkage {
        Linkage::Static => "static",
        Linkage::Dynamic => "dynamic",
    };
    let Some(mut unshare) = clean_root::as_root("unshare") else {
        return Err("the rights of root are gone".to_owned());
    };
    unshare
        .args(["--mount", "--pid", "--net", "--fork", "--kill-child"])
        .args(["sh", "-c", SCRIPT, "sh", trial.kind])
        .args([&trial.file, root, work])
        .args([linkage, &trial.install, &trial.uninstalled]);
    let printed =
        run::output(&mut unshare).map_err(|error| match error.rsplit_once("failed: ") {
            // Without the script, which is the command.
            Some((_, said)) => said.to_owned(),
            None => format!(
                "it failed in a clean root: {}",
                error.lines().last().unwrap_or_default()
            ),
        })?;
    Ok(Tried::read(&printed))
}

impl Tried {
    fn read(printed: &str) -> Self {
        let mut tried = Self::default();
        for line in printed.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "version" => tried.version = rest.to_owned(),
                "install" => tried.install = rest.parse().unwrap_or_default(),
                "demo" => tried.demo = rest.parse().unwrap_or_default(),
                "left" => tried.left.push(rest.to_owned()),
                "lost" => tried.lost.push(rest.to_owned()),
                "said" => tried.said.push(rest.to_owned()),
                _ => {}
            }
        }
        tried
    }

    /// Whether it was as it has to be.
    pub(super) fn checked(self, version: &str, linkage: Linkage) -> Result<Self, String> {
        if self.version.split(' ').nth(1) != Some(version) {
            return Err(format!("`mission version` prints {:?}", self.version));
        }
        if linkage == Linkage::Static && self.install >= AIM {
            return Err(format!(
                "installing it took {:.1} s, which has to be under {AIM} s",
                self.install
            ));
        }
        for (what, files) in [("leaves", &self.left), ("takes away", &self.lost)] {
            if !files.is_empty() {
                return Err(format!("removing it {what} {}", files.join(", ")));
            }
        }
        Ok(self)
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { install, demo, .. } = self;
        write!(
            formatter,
            "installed in {install:.1} s (it has to be under {AIM} s if it is static), demo ran in \
             {demo:.0} s, a task in a repository of the person's merged, removed with all its files \
             and folders"
        )?;
        for sentence in &self.said {
            write!(formatter, "; {sentence}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_behind_or_slow_or_of_another_version_fails() {
        let printed = "install 1.25\nversion mission 1.2.3\ndemo 16.5\n";
        let tried = Tried::read(printed);
        assert_eq!((tried.install, tried.demo), (1.25, 16.5));
        let said = tried.to_string();
        assert!(
            said.starts_with(
                "installed in 1.2 s (it has to be under 20 s if it is static), demo ran in 16 s"
            ),
            "{said}"
        );
        assert!(tried.checked("1.2.3", Linkage::Static).is_ok());
        let checked = |printed: &str, linkage| Tried::read(printed).checked("1.2.3", linkage);
        let other = printed.replace("mission 1.2.3", "mission 1.2.4");
        assert!(checked(&other, Linkage::Static).is_err());
        let left = format!("{printed}left /usr/bin/mission\n");
        let error = checked(&left, Linkage::Static).unwrap_err();
        assert_eq!(error, "removing it leaves /usr/bin/mission");
        let slow = printed.replace("1.25", "20.5");
        let error = checked(&slow, Linkage::Static).unwrap_err();
        assert_eq!(
            error,
            "installing it took 20.5 s, which has to be under 20 s"
        );
        assert!(checked(&slow, Linkage::Dynamic).is_ok());
    }
}
