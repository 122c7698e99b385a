//! Which package manager a program came with. What such a one put there is its own:
//! it upgrades it and takes it away, and would not know of what anybody else did.

use std::fs;
use std::path::{Component, Path};

/// Where dpkg lists the files of each package.
const DPKG_LISTS: &str = "/var/lib/dpkg/info";

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PackageManager {
    pub(crate) name: &'static str,
    /// The command that puts a newer version there.
    pub(crate) upgrade: String,
    /// The command that takes the program away.
    pub(crate) remove: String,
}

/// The manager that a program, named by its real path, belongs to.
pub(crate) fn manager_of(program: &Path) -> Option<PackageManager> {
    manager_by(program, Path::new(DPKG_LISTS))
}

fn manager_by(program: &Path, dpkg_lists: &Path) -> Option<PackageManager> {
    if program.starts_with("/nix/store") {
        return Some(PackageManager {
            name: "Nix",
            upgrade: "nix profile upgrade mission".to_owned(),
            remove: "nix profile remove mission".to_owned(),
        });
    }
    if let Some(package) = npm_package(program) {
        return Some(PackageManager {
            name: "npm",
            upgrade: format!("npm install --global ./{}-VERSION.tgz", file_name(&package)),
            remove: format!("npm uninstall --global {package}"),
        });
    }
    if let Some(package) = cargo_package(program) {
        return Some(PackageManager {
            name: "cargo",
            upgrade: "cargo install --path crates/cli".to_owned(),
            remove: format!("cargo uninstall {package}"),
        });
    }
    let has = |folder: &str| program.components().any(|part| part.as_os_str() == folder);
    if has("Cellar") {
        return Some(PackageManager {
            name: "Homebrew",
            upgrade: "brew upgrade mission".to_owned(),
            remove: "brew uninstall mission".to_owned(),
        });
    }
    let package = dpkg_package(program, dpkg_lists)?;
    Some(PackageManager {
        name: "dpkg",
        upgrade: format!("sudo apt install ./{package}_VERSION_ARCHITECTURE.deb"),
        remove: format!("sudo apt remove {package}"),
    })
}

/// What npm calls the file of a package: `@me/missiond` is `me-missiond`.
fn file_name(package: &str) -> String {
    package.trim_start_matches('@').replace('/', "-")
}

/// The name of a package is the folder in `node_modules`, or two of them with a scope.
fn npm_package(program: &Path) -> Option<String> {
    let mut parts = program.components().filter_map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    parts.find(|part| *part == "node_modules")?;
    let first = parts.next()?;
    if first.starts_with('@') {
        Some(format!("{first}/{}", parts.next()?))
    } else {
        Some(first.to_owned())
    }
}

/// What `cargo install` has put there: it keeps a list beside the folder of its programs.
fn cargo_package(program: &Path) -> Option<&'static str> {
    let bin = program.parent().filter(|folder| folder.ends_with("bin"))?;
    let list = fs::read_to_string(bin.parent()?.join(".crates.toml")).ok()?;
    let package = "mission";
    let begins = format!("\"{package} ");
    let is_listed = list.lines().any(|line| line.trim().starts_with(&begins));
    is_listed.then_some(package)
}

fn dpkg_package(program: &Path, lists: &Path) -> Option<String> {
    let program = program.to_str()?;
    let entries = fs::read_dir(lists).ok()?;
    entries.flatten().find_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let package = name.strip_suffix(".list")?;
        let files = fs::read_to_string(entry.path()).ok()?;
        // `libc6:amd64` is what one is called where several kinds of machine are mixed.
        let package = package.split(':').next()?.to_owned();
        files.lines().any(|file| file == program).then_some(package)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_belongs_to_the_manager_that_put_it_there() {
        let lists = tempfile::tempdir().unwrap();
        let list = lists.path().join("mission:amd64.list");
        fs::write(list, "/.\n/usr/bin\n/usr/bin/mission\n").unwrap();
        for (program, manager, remove) in [
            (
                "/nix/store/x-mission/bin/mission",
                "Nix",
                "nix profile remove mission",
            ),
            (
                "/usr/lib/node_modules/missiond/bin/mission",
                "npm",
                "npm uninstall --global missiond",
            ),
            (
                "/home/me/node_modules/@me/missiond/bin/mission",
                "npm",
                "npm uninstall --global @me/missiond",
            ),
            (
                "/home/linuxbrew/.linuxbrew/Cellar/mission/1/bin/mission",
                "Homebrew",
                "brew uninstall mission",
            ),
            ("/usr/bin/mission", "dpkg", "sudo apt remove mission"),
        ] {
            let found = manager_by(Path::new(program), lists.path()).unwrap();
            assert_eq!((found.name, found.remove.as_str()), (manager, remove));
        }
        let cargo = lists.path().join("cargo");
        fs::create_dir_all(cargo.join("bin")).unwrap();
        let program = cargo.join("bin/mission");
        assert_eq!(manager_by(&program, lists.path()), None);
        fs::write(
            cargo.join(".crates.toml"),
            "[v1]\n\"mission 0.2.0 (path+file:///src/crates/cli)\" = [\"mission\"]\n",
        )
        .unwrap();
        let found = manager_by(&program, lists.path()).unwrap();
        assert_eq!(found.remove, "cargo uninstall mission");
        for own in [
            "/usr/bin/mission2",
            "/usr/local/bin/mission",
            "/home/me/.local/bin/mission",
        ] {
            assert_eq!(manager_by(Path::new(own), lists.path()), None, "{own}");
        }
    }
}
