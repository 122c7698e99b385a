//! `cargo xtask test`: everything that must hold, in one command.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::packages::{self, Browser, Postgres};
use crate::{clis, licences, mcp_servers, node, run, web};

/// Whether the tests that run the real agent CLIs run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RealClis {
    Tested,
    Skipped,
}

/// Whether the tests that run other people's MCP servers run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum McpServers {
    Tested,
    Skipped,
}

/// One line of the summary.
pub(crate) struct Suite {
    name: &'static str,
    tests: u64,
    took: Duration,
}

pub(crate) fn test(arguments: &[String]) -> Result<(), String> {
    let flag = |name: &str| arguments.iter().any(|argument| argument == name);
    let known = [
        "--skip-postgres",
        "--skip-clis",
        "--skip-mcp-servers",
        "--skip-web",
        "--quick",
    ];
    if let Some(unknown) = arguments
        .iter()
        .find(|argument| argument.starts_with("--") && !known.contains(&argument.as_str()))
    {
        return Err(format!("`cargo xtask test` takes no `{unknown}`"));
    }
    let filters: Vec<_> = arguments
        .iter()
        .filter(|argument| !argument.starts_with("--"))
        .map(String::as_str)
        .collect();
    let postgres = if flag("--skip-postgres") {
        Postgres::Skipped
    } else {
        Postgres::Tested
    };
    let browser = if flag("--skip-web") || web::missing().is_some() {
        Browser::Skipped
    } else {
        Browser::Tested
    };
    packages::install(postgres, browser)?;
    let real_clis = if flag("--skip-clis") {
        RealClis::Skipped
    } else {
        clis::install()?;
        RealClis::Tested
    };
    let mcp_servers = if flag("--skip-mcp-servers") {
        McpServers::Skipped
    } else {
        mcp_servers::install()?;
        McpServers::Tested
    };

    let mut suites = Vec::new();
    if !flag("--quick") {
        suites.push(checked("formatting", || {
            run::run(&mut run::cargo(&["fmt", "--all", "--check"])).map(|()| 0)
        })?);
        suites.push(checked("licences", || licences::check().map(|_| 0))?);
        suites.push(checked("lints", || {
            let clippy = [
                "clippy",
                "--workspace",
                "--all-targets",
                "--",
                "--deny",
                "warnings",
            ];
            run::run(&mut run::cargo(&clippy)).map(|()| 0)
        })?);
    }
    // Before the program, which has the page in it.
    if browser == Browser::Tested {
        suites.push(checked("web board", || web::build().map(|()| 0))?);
    }
    suites.push(checked("build", || {
        run::run(&mut run::cargo(&["build", "--workspace", "--all-targets"])).map(|()| 0)
    })?);
    let server = match postgres {
        Postgres::Tested => Some(Server::start()?),
        Postgres::Skipped => None,
    };
    suites.push(checked("unit and product tests", || {
        run_tests(&filters, server.as_ref(), real_clis, mcp_servers)
    })?);
    if filters.is_empty() {
        suites.extend(node::test()?);
        if !flag("--skip-web") {
            suites.extend(web::test()?);
        }
        suites.push(checked("documentation tests", || {
            counted(&mut run::cargo(&["test", "--workspace", "--doc"]))
        })?);
    }

    println!("\n{:<26}{:>8}{:>10}", "suite", "tests", "seconds");
    for suite in &suites {
        let tests = if suite.tests == 0 {
            String::new()
        } else {
            suite.tests.to_string()
        };
        println!(
            "{:<26}{tests:>8}{:>10.1}",
            suite.name,
            suite.took.as_secs_f64()
        );
    }
    if postgres == Postgres::Skipped {
        println!("the tests on PostgreSQL were skipped");
    }
    if real_clis == RealClis::Skipped {
        println!("the tests with the real agent CLIs were skipped");
    }
    if flag("--skip-web") {
        println!("the tests of the web board were skipped");
    }
    if mcp_servers == McpServers::Skipped {
        println!("the tests with other people's MCP servers were skipped");
    }
    let total: u64 = suites.iter().map(|suite| suite.tests).sum();
    println!("{total} passed, 0 failed");
    Ok(())
}

pub(crate) fn checked(
    name: &'static str,
    suite: impl FnOnce() -> Result<u64, String>,
) -> Result<Suite, String> {
    println!("\n── {name}");
    let began = Instant::now();
    let tests = suite().map_err(|error| format!("{name}: {error}"))?;
    Ok(Suite {
        name,
        tests,
        took: began.elapsed(),
    })
}

/// With nextest where it is installed: a process per test, and better reports.
fn run_tests(
    filters: &[&str],
    server: Option<&Server>,
    real_clis: RealClis,
    mcp_servers: McpServers,
) -> Result<u64, String> {
    let nextest = run::output(&mut run::cargo(&["nextest", "--version"])).is_ok();
    let mut command = if nextest {
        run::cargo(&[
            "nextest",
            "run",
            "--workspace",
            "--all-targets",
            "--profile",
            "ci",
        ])
    } else {
        run::cargo(&["test", "--workspace", "--lib", "--bins", "--tests"])
    };
    match server {
        Some(server) => command.env("MISSION_TEST_POSTGRES", &server.url),
        None => command.env("MISSION_TEST_SKIP_POSTGRES", "1"),
    };
    if real_clis == RealClis::Skipped {
        command.env("MISSION_TEST_SKIP_CLIS", "1");
    }
    if mcp_servers == McpServers::Skipped {
        command.env("MISSION_TEST_SKIP_MCP_SERVERS", "1");
    }
    counted(command.args(filters))
}

/// Runs it in view of the person and adds up the tests it says it ran.
pub(crate) fn counted(command: &mut Command) -> Result<u64, String> {
    // The summary of nextest is on standard error, that of cargo test on
    // standard output: one pipe takes both.
    let (reader, writer) = std::io::pipe().map_err(|error| error.to_string())?;
    let errors = writer.try_clone().map_err(|error| error.to_string())?;
    command.stdout(writer).stderr(errors);
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    // The command holds the writing ends: the pipe must end with the child.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut passed = 0;
    for line in BufReader::new(reader).lines() {
        let line = line.map_err(|error| error.to_string())?;
        println!("{line}");
        passed += passed_in(&line);
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    if status.success() {
        Ok(passed)
    } else {
        Err(format!("there are failures ({status})"))
    }
}

/// What a summary line of any of the runners counts; 0 for any other line.
fn passed_in(line: &str) -> u64 {
    let line = line.trim();
    if let Some(number) = line.strip_prefix("# pass ") {
        return number.parse().unwrap_or(0);
    }
    let browser = line
        .strip_suffix(')')
        .and_then(|line| line.split_once(" passed ("));
    if let Some((number, _)) = browser {
        return number.parse().unwrap_or(0);
    }
    let summary = line.starts_with("test result: ") || line.starts_with("Summary ");
    let number = line
        .split(" passed")
        .next()
        .and_then(|before| before.rsplit(' ').next());
    if summary {
        number.and_then(|number| number.parse().ok()).unwrap_or(0)
    } else {
        0
    }
}

/// One PostgreSQL server for all tests, gone when they are.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start() -> Result<Self, String> {
        println!("\n── PostgreSQL server for the tests");
        let program = run::target_folder()?.join("debug/examples/private_postgres");
        let mut child = Command::new(program)
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
        Ok(Self { child, url })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends when nobody holds its standard input any more.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
