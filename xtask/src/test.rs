//! `cargo xtask test`: everything that must hold, in one command.
//!
//! The stages share one build. What only waits for a network runs beside it:
//! the agent CLIs and MCP servers are installed while cargo compiles, the page
//! is made while formatting and licences are checked.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crate::compile::{Built, LintingCargo};
use crate::packages::{self, Browser, Postgres};
use crate::report::{Ran, Report, Strictness, captured, counted};
use crate::{advisories, clis, dist, fuzz, house, licences, mcp_servers, node, run, web};

/// Whether a part of the tests runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Tested,
    Skipped,
}

/// Whether the tests run at the size that still proves the promise, or at the
/// size that takes hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    Short,
    Long,
}

/// What is asked for on the command line.
#[derive(Debug)]
struct Options {
    postgres: Postgres,
    browser: Browser,
    real_clis: Part,
    mcp_servers: Part,
    /// Formatting, licences and lints.
    checks: Part,
    size: Size,
    strictness: Strictness,
    filters: Vec<String>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self {
            postgres: Postgres::Tested,
            browser: if web::missing().is_some() {
                Browser::Skipped
            } else {
                Browser::Tested
            },
            real_clis: Part::Tested,
            mcp_servers: Part::Tested,
            checks: Part::Tested,
            size: Size::Short,
            strictness: Strictness::Lenient,
            filters: Vec::new(),
        };
        for argument in arguments {
            match argument.as_str() {
                "--skip-postgres" => options.postgres = Postgres::Skipped,
                "--skip-web" => options.browser = Browser::Skipped,
                "--skip-clis" => options.real_clis = Part::Skipped,
                "--skip-mcp-servers" => options.mcp_servers = Part::Skipped,
                "--quick" => options.checks = Part::Skipped,
                "--long" => options.size = Size::Long,
                "--strict" => options.strictness = Strictness::Strict,
                unknown if unknown.starts_with("--") => {
                    return Err(format!("`cargo xtask test` takes no `{unknown}`"));
                }
                filter => options.filters.push(filter.to_owned()),
            }
        }
        if options.browser == Browser::Skipped
            && let Some(missing) = web::missing()
            && !arguments.iter().any(|argument| argument == "--skip-web")
        {
            let said = format!("the web board is not tested: {missing}");
            // Where everything must hold, what cannot be tested has failed.
            if std::env::var_os("CI").is_some() {
                return Err(said);
            }
            println!("{said}");
        }
        Ok(options)
    }

    /// What is left out, in a sentence each.
    fn print_skipped(&self) {
        let skipped = [
            (
                self.postgres == Postgres::Skipped,
                "the tests on PostgreSQL",
            ),
            (
                self.real_clis == Part::Skipped,
                "the tests with the real agent CLIs",
            ),
            (
                self.browser == Browser::Skipped,
                "the tests of the web board",
            ),
            (
                self.mcp_servers == Part::Skipped,
                "the tests with other people's MCP servers",
            ),
        ];
        for (_, what) in skipped.iter().filter(|(is_skipped, _)| *is_skipped) {
            println!("{what} were skipped");
        }
    }
}

pub(crate) fn test(arguments: &[String]) -> Result<(), String> {
    let began = Instant::now();
    let options = Options::parse(arguments)?;
    packages::install(options.postgres, options.browser)?;
    let mut report = Report::default();
    let stopped = std::thread::scope(|scope| stages(scope, &options, &mut report)).err();
    if let Some(error) = stopped {
        report.fail(error);
    }
    options.print_skipped();
    report.finish(began.elapsed(), options.strictness)
}

/// All stages in their order; an error is one that makes the rest meaningless.
fn stages<'scope>(
    scope: &'scope Scope<'scope, '_>,
    options: &Options,
    report: &mut Report,
) -> Result<(), String> {
    let start = |part: Part, name, work: fn() -> Result<(), String>| match part {
        Part::Tested => Some(Beside::start(scope, name, move || {
            work().map(|()| Ran::default())
        })),
        Part::Skipped => None,
    };
    let packages = if options.filters.is_empty() {
        Part::Tested
    } else {
        Part::Skipped
    };
    let installing = [
        start(options.real_clis, "agent CLIs", clis::install),
        start(options.mcp_servers, "MCP servers", mcp_servers::install),
        start(packages, "clean root", dist::prepare_trial),
    ];
    let with_page = match options.browser {
        Browser::Tested => Part::Tested,
        Browser::Skipped => Part::Skipped,
    };
    let page = start(with_page, "page of the web board", web::build);
    if options.checks == Part::Tested {
        report.stage("formatting", || {
            run::run(&mut run::cargo(&["fmt", "--all", "--check"])).map(|()| Ran::default())
        });
        report.stage("licences", || licences::check().map(|_| Ran::default()));
        report.stage("advisories of crates", || advisories::check_crates(None));
        report.stage("advisories of npm", advisories::check_npm);
        report.stage("house", || house::house(&[]).map(|()| Ran::default()));
    }
    // Before the program, which has the page in it.
    if let Some(page) = page {
        page.finish(report)?;
    }
    let cargo = LintingCargo::find()?;
    let mut built = Built::default();
    report.needed("build and lints", || {
        built = cargo.build()?;
        Ok(Ran::default())
    })?;
    if options.checks == Part::Tested && !built.warnings.is_empty() {
        report.fail(format!(
            "lints: {} warnings, see above; each is a failure",
            built.warnings.len()
        ));
    }
    if with_page == Part::Tested {
        report.stage("types of the web board", || {
            web::check(&mut Command::new(built.program("catalogue")?)).map(|()| Ran::default())
        });
    }
    for installed in installing.into_iter().flatten() {
        installed.finish(report)?;
    }
    let server = match options.postgres {
        Postgres::Tested => Some(Server::start(&built)?),
        Postgres::Skipped => None,
    };
    let documentation = options.filters.is_empty().then(|| {
        // Rustdoc reads every crate for a handful of examples; the tests leave it
        // time enough.
        let mut command = cargo.command(&["test", "--workspace", "--doc", "--quiet"]);
        Beside::start(scope, "documentation tests", move || captured(&mut command))
    });
    let packages = match packages {
        Part::Tested => {
            let mission = built.program("mission")?.to_owned();
            let work = move || dist::try_packages(&mission);
            Some(Beside::start(scope, "packages", work))
        }
        Part::Skipped => None,
    };
    report.stage("unit and product tests", || {
        run_tests(&cargo, options, server.as_ref())
    });
    drop(server);
    for beside in [documentation, packages].into_iter().flatten() {
        if let Err(error) = beside.finish(report) {
            report.fail(error);
        }
    }
    if options.filters.is_empty() {
        if node::is_there()? {
            report.stage("Node bindings", || node::test(&built));
        }
        if with_page == Part::Tested {
            report.stage("web board in the browser", || web::test(&built));
        }
        if options.size == Size::Long {
            report.stage("fuzzing", || fuzz::fuzz(&[]).map(|()| Ran::default()));
        }
    }
    Ok(())
}

/// A stage that runs beside others. What it has to say comes with its result.
struct Beside<'scope> {
    name: &'static str,
    thread: ScopedJoinHandle<'scope, (Duration, Result<Ran, String>)>,
}

impl<'scope> Beside<'scope> {
    fn start(
        scope: &'scope Scope<'scope, '_>,
        name: &'static str,
        work: impl FnOnce() -> Result<Ran, String> + Send + 'scope,
    ) -> Self {
        let thread = scope.spawn(move || {
            let began = Instant::now();
            let result = work();
            (began.elapsed(), result)
        });
        Self { name, thread }
    }

    fn finish(self, report: &mut Report) -> Result<(), String> {
        let (took, result) = self
            .thread
            .join()
            .map_err(|_| format!("{}: the command itself failed, see above", self.name))?;
        report.beside(self.name, took, result)
    }
}

/// With nextest where it is installed: a process per test, and better reports.
fn run_tests(
    cargo: &LintingCargo,
    options: &Options,
    server: Option<&Server>,
) -> Result<Ran, String> {
    let nextest = run::output(&mut run::cargo(&["nextest", "--version"])).is_ok();
    let mut command = if nextest {
        let run = ["nextest", "run", "--workspace", "--all-targets"];
        let mut command = cargo.command(&run);
        // Most tests wait most of the time, for daemons, agents and disks.
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let threads = (2 * cores).to_string();
        command.args(["--profile", "ci", "--test-threads", &threads]);
        command
    } else {
        println!("cargo-nextest is not installed: slower, and without the times of tests");
        cargo.command(&["test", "--workspace", "--lib", "--bins", "--tests"])
    };
    match server {
        Some(server) => command.env("MISSION_TEST_POSTGRES", &server.url),
        None => command.env("MISSION_TEST_SKIP_POSTGRES", "1"),
    };
    if options.real_clis == Part::Skipped {
        command.env("MISSION_TEST_SKIP_CLIS", "1");
    }
    if options.mcp_servers == Part::Skipped {
        command.env("MISSION_TEST_SKIP_MCP_SERVERS", "1");
    }
    if options.size == Size::Long {
        command.env("MISSION_TEST_LONG", "1");
        if std::env::var_os("PROPTEST_CASES").is_none() {
            command.env("PROPTEST_CASES", "5000");
        }
    }
    counted(command.args(&options.filters))
}

/// One PostgreSQL server for all tests, gone when they are.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(built: &Built) -> Result<Self, String> {
        println!("\n── PostgreSQL server for the tests");
        let mut child = Command::new(built.program("private_postgres")?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the private PostgreSQL server: {error}"))?;
        let mut url = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout.take(4096))
                .read_line(&mut url)
                .map_err(|error| error.to_string())?;
        }
        let url = url.trim().to_owned();
        if url.is_empty() {
            return Err("the private PostgreSQL server did not start: see above".to_owned());
        }
        let server = Self { child, url };
        server.forgo_durability();
        Ok(server)
    }

    /// Nobody loses power in these tests, and waiting for the disk is most of what
    /// a test on PostgreSQL does. Those that cut a server off have one of their own.
    fn forgo_durability(&self) {
        let mut psql = Command::new("psql");
        psql.args(["--quiet", "--no-psqlrc", &self.url]);
        for setting in ["fsync", "full_page_writes", "synchronous_commit"] {
            psql.arg(format!("--command=ALTER SYSTEM SET {setting} = off"));
        }
        psql.arg("--command=SELECT pg_reload_conf()");
        if let Err(error) = run::output(&mut psql) {
            println!("the tests on PostgreSQL wait for the disk: {error}");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends when nobody holds its standard input any more.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_filters_and_unknown_flags_are_refused() {
        let parse = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
            Options::parse(&words)
        };
        let options = parse(&["--long", "--skip-web", "--quick", "--strict", "crash"]).unwrap();
        assert_eq!(options.size, Size::Long);
        assert_eq!(options.strictness, Strictness::Strict);
        assert_eq!(options.checks, Part::Skipped);
        assert_eq!(options.browser, Browser::Skipped);
        assert_eq!(options.real_clis, Part::Tested);
        assert_eq!(options.filters, ["crash"]);
        assert!(parse(&["--skip-web", "--fast"]).is_err());
    }
}
