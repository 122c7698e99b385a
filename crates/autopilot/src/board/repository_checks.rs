//! Which checks fit a repository, by what is in its folder. What the repository
//! itself says in `.mission/config.toml` comes first and alone; otherwise each
//! build tool that is set up there speaks for its own test command.

use std::path::Path;

use super::fill::{self, read_small};

/// A check, and the file that speaks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FittingCheck {
    pub run: Vec<String>,
    pub because: String,
}

/// Checks that fit the repository in this folder, the surest first. Files that
/// cannot be read speak for nothing.
#[must_use]
pub fn fitting_checks(folder: &Path) -> Vec<FittingCheck> {
    let said = fill::repository_defaults(folder).ok();
    if let Some(checks) = said.and_then(|draft| draft.checks) {
        return checks
            .into_iter()
            .map(|check| FittingCheck {
                run: check.run,
                because: ".mission/config.toml".to_owned(),
            })
            .collect();
    }
    let tools = [cargo, node, python, go, gradle, maven, make, shell];
    tools.iter().filter_map(|tool| tool(folder)).collect()
}

fn check(run: &[&str], because: &str) -> Option<FittingCheck> {
    Some(FittingCheck {
        run: run.iter().map(|word| (*word).to_owned()).collect(),
        because: because.to_owned(),
    })
}

fn text(folder: &Path, name: &str) -> Option<String> {
    read_small(&folder.join(name)).ok().flatten()
}

fn has(folder: &Path, name: &str) -> bool {
    folder.join(name).is_file()
}

fn cargo(folder: &Path) -> Option<FittingCheck> {
    let manifest = text(folder, "Cargo.toml")?;
    // Without it, only the package at the root would be tested.
    if manifest.lines().any(|line| line.trim() == "[workspace]") {
        return check(&["cargo", "test", "--workspace"], "Cargo.toml");
    }
    check(&["cargo", "test"], "Cargo.toml")
}

fn node(folder: &Path) -> Option<FittingCheck> {
    let package: serde_json::Value = serde_json::from_str(&text(folder, "package.json")?).ok()?;
    let script = package.get("scripts")?.get("test")?.as_str()?;
    // What `npm init` writes, which always fails.
    if script.contains("no test specified") {
        return None;
    }
    let runners = [
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun"),
        ("bun.lockb", "bun"),
    ];
    match runners.iter().find(|(lock, _)| has(folder, lock)) {
        Some((_, "bun")) => check(&["bun", "run", "test"], "package.json"),
        Some((_, runner)) => check(&[runner, "test"], "package.json"),
        None => check(&["npm", "test"], "package.json"),
    }
}

fn python(folder: &Path) -> Option<FittingCheck> {
    let pytest = ["-m", "pytest", "-q"];
    for file in ["pytest.ini", "conftest.py", "tests/conftest.py"] {
        if has(folder, file) {
            return check(&[&["python3"], &pytest[..]].concat(), file);
        }
    }
    let mentioned = [
        "pyproject.toml",
        "setup.cfg",
        "tox.ini",
        "requirements.txt",
        "requirements-dev.txt",
    ];
    for file in mentioned {
        if text(folder, file).is_some_and(|text| text.contains("pytest")) {
            return check(&[&["python3"], &pytest[..]].concat(), file);
        }
    }
    // The tests that Python itself can find and run.
    for (place, start) in [("tests", "tests"), ("test", "test"), ("", ".")] {
        if let Some(file) = test_file(&folder.join(place)) {
            let because = Path::new(place).join(file).display().to_string();
            let run = ["python3", "-m", "unittest", "discover", "-s", start];
            return check(&run, &because);
        }
    }
    None
}

/// The first file in a folder that `unittest` takes for a test.
fn test_file(folder: &Path) -> Option<String> {
    let entries = std::fs::read_dir(folder).ok()?;
    let is_test = |name: &String| name.starts_with("test") && name.ends_with(".py");
    entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(is_test)
        .min()
}

fn go(folder: &Path) -> Option<FittingCheck> {
    has(folder, "go.mod").then(|| check(&["go", "test", "./..."], "go.mod"))?
}

fn gradle(folder: &Path) -> Option<FittingCheck> {
    let builds = ["build.gradle", "build.gradle.kts"];
    let build = builds.iter().find(|build| has(folder, build))?;
    let program = if has(folder, "gradlew") {
        "./gradlew"
    } else {
        "gradle"
    };
    check(&[program, "test"], build)
}

fn maven(folder: &Path) -> Option<FittingCheck> {
    if !has(folder, "pom.xml") {
        return None;
    }
    let program = if has(folder, "mvnw") { "./mvnw" } else { "mvn" };
    check(&[program, "-q", "test"], "pom.xml")
}

fn make(folder: &Path) -> Option<FittingCheck> {
    let file = ["GNUmakefile", "makefile", "Makefile"]
        .into_iter()
        .find(|file| has(folder, file))?;
    let is_target = |line: &str| {
        let rest = line.strip_prefix("test").unwrap_or_default().trim_start();
        rest.starts_with(':') && !rest.starts_with(":=")
    };
    let text = text(folder, file)?;
    text.lines()
        .any(is_target)
        .then(|| check(&["make", "test"], file))?
}

fn shell(folder: &Path) -> Option<FittingCheck> {
    let scripts = ["tests/run.sh", "test.sh", "run-tests.sh"];
    let script = scripts.into_iter().find(|script| has(folder, script))?;
    check(&["sh", script], script)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is proposed for a folder with these files, as command lines.
    fn proposed(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let checks = fitting_checks(folder.path());
        checks.iter().map(|check| check.run.join(" ")).collect()
    }

    #[test]
    fn each_ecosystem_speaks_for_its_own_tests() {
        const TESTS: &str = r#"{ "scripts": { "test": "vitest run" } }"#;
        const NONE: &str =
            r#"{ "scripts": { "test": "echo \"Error: no test specified\" && exit 1" } }"#;
        type Files = &'static [(&'static str, &'static str)];
        let cases: &[(Files, &[&str])] = &[
            (&[], &[]),
            (&[("Cargo.toml", "[package]\n")], &["cargo test"]),
            (
                &[("Cargo.toml", "[workspace]\nmembers = []\n")],
                &["cargo test --workspace"],
            ),
            (&[("package.json", TESTS)], &["npm test"]),
            (&[("package.json", NONE)], &[]),
            (
                &[("package.json", TESTS), ("pnpm-lock.yaml", "")],
                &["pnpm test"],
            ),
            (
                &[("pyproject.toml", "[tool.pytest.ini_options]\n")],
                &["python3 -m pytest -q"],
            ),
            (
                &[("tests/test_calc.py", "")],
                &["python3 -m unittest discover -s tests"],
            ),
            (&[("pyproject.toml", "[project]\n")], &[]),
            (&[("go.mod", "module a\n")], &["go test ./..."]),
            (&[("pom.xml", ""), ("mvnw", "")], &["./mvnw -q test"]),
            (&[("build.gradle.kts", "")], &["gradle test"]),
            (
                &[("Makefile", "all:\n\ttrue\ntest: all\n\ttrue\n")],
                &["make test"],
            ),
            (&[("Makefile", "tests := a\nall:\n\ttrue\n")], &[]),
            (
                &[("Cargo.toml", "[package]\n"), ("Makefile", "test:\n")],
                &["cargo test", "make test"],
            ),
        ];
        for (files, expected) in cases {
            assert_eq!(proposed(files), *expected, "{files:?}");
        }
    }

    #[test]
    fn what_the_repository_says_is_all_there_is() {
        let config = "[[checks]]\nrun = [\"just\", \"ci\"]\n";
        let files = [
            ("Cargo.toml", "[package]\n"),
            (".mission/config.toml", config),
        ];
        assert_eq!(proposed(&files), ["just ci"]);
    }
}
