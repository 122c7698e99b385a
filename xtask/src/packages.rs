//! What the tests need from the operating system.

use std::process::Command;

use crate::run;

struct Need {
    /// What it is for, for the person who has to install it by hand.
    what: &'static str,
    /// Debian's name for it.
    package: &'static str,
    present: fn() -> bool,
}

const POSTGRES: Need = Need {
    what: "a PostgreSQL server (`initdb` and `postgres`)",
    package: "postgresql",
    present: postgres_present,
};

const FUSE: Need = Need {
    what: "FUSE (`fusermount3`), for the tests of power loss",
    package: "fuse3",
    present: || run::exists("fusermount3"),
};

const GO: Need = Need {
    what: "Go, for a repository of the tests",
    package: "golang-go",
    present: || run::exists("go"),
};

const GIT_LFS: Need = Need {
    what: "Git LFS, for a repository of the tests",
    package: "git-lfs",
    present: || run::exists("git-lfs"),
};

const CHROMIUM: Need = Need {
    what: "Chromium, for the tests of the web board",
    package: "chromium",
    present: || run::exists("chromium") || run::exists("chromium-browser"),
};

/// What reads the files of a release that other languages than ours are written in.
const PARSERS: [Need; 2] = [
    Need {
        what: "Ruby, for the Homebrew formula",
        package: "ruby",
        present: || run::exists("ruby"),
    },
    Need {
        what: "Nix, for the flake",
        package: "nix-bin",
        present: || run::exists("nix-instantiate"),
    },
];

/// Whether the tests on PostgreSQL run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Postgres {
    Tested,
    Skipped,
}

/// Whether the tests of the web board run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Browser {
    Tested,
    Skipped,
}

/// Installs what is missing, or says what to install.
pub(crate) fn install(postgres: Postgres, browser: Browser) -> Result<(), String> {
    let mut needs = Vec::new();
    if postgres == Postgres::Tested {
        needs.push(POSTGRES);
    }
    if cfg!(target_os = "linux") {
        needs.extend([FUSE, GO, GIT_LFS]);
    }
    if browser == Browser::Tested {
        needs.push(CHROMIUM);
    }
    needs.retain(|need| !(need.present)());
    if needs.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = needs.iter().map(|need| need.package).collect();
    let wanted: Vec<_> = needs.iter().map(|need| need.what).collect();
    let by_hand = format!(
        "the tests need {}: install it, on Debian with `sudo apt-get install {}`",
        wanted.join(" and "),
        names.join(" ")
    );
    let Some(apt) = Apt::allowed() else {
        return Err(by_hand);
    };
    println!("installing {}", names.join(", "));
    apt.install(&names)
        .map_err(|error| format!("{by_hand} ({error})"))?;
    match needs.iter().find(|need| !(need.present)()) {
        Some(need) => Err(format!(
            "{} was installed, but {} is not there",
            need.package, need.what
        )),
        None => Ok(()),
    }
}

/// Installs what parses the files of a release, where that can be done: without it they are
/// packed and not parsed, which the stage of the packages says.
pub(crate) fn install_parsers() {
    let absent: Vec<_> = PARSERS.iter().filter(|need| !(need.present)()).collect();
    let Some(apt) = Apt::allowed().filter(|_| !absent.is_empty()) else {
        return;
    };
    let names: Vec<_> = absent.iter().map(|need| need.package).collect();
    if let Err(error) = apt.install(&names) {
        let wanted: Vec<_> = absent.iter().map(|need| need.what).collect();
        println!("{} was not installed: {error}", wanted.join(" and "));
    }
}

/// Debian's package manager, with the rights to use it.
pub(crate) struct Apt {
    sudo: bool,
}

impl Apt {
    pub(crate) fn allowed() -> Option<Self> {
        if !run::exists("apt-get") {
            return None;
        }
        let answers = |program: &str, arguments: &[&str]| {
            Command::new(program)
                .args(arguments)
                .output()
                .is_ok_and(|output| output.status.success() && output.stdout.starts_with(b"0"))
        };
        if answers("id", &["-u"]) {
            Some(Self { sudo: false })
        } else if answers("sudo", &["-n", "id", "-u"]) {
            Some(Self { sudo: true })
        } else {
            None
        }
    }

    pub(crate) fn install(&self, packages: &[&str]) -> Result<(), String> {
        run::output(&mut self.command(&["update"]))?;
        let mut install = self.command(&["install", "--yes", "--no-install-recommends"]);
        run::output(install.args(packages)).map(drop)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.as_root("apt-get");
        command
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive");
        command
    }

    /// A program with the rights the package manager has.
    pub(crate) fn as_root(&self, program: &str) -> Command {
        if self.sudo {
            let mut command = Command::new("sudo");
            command.args(["-n", program]);
            command
        } else {
            Command::new(program)
        }
    }
}

/// In PATH or where Debian and Homebrew put the binaries of each version.
fn postgres_present() -> bool {
    let in_path = run::exists("initdb") && run::exists("postgres");
    let versions = ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"];
    let installed = versions
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten();
    in_path
        || installed
            .filter_map(Result::ok)
            .any(|version| version.path().join("bin/initdb").is_file())
}
