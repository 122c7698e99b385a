//! What the test command says at its end: the time of every stage and the
//! slowest tests. Both come from what the runners print while they run.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How many of the slowest tests are named.
const NAMED: usize = 20;

/// One stage of the test command.
#[derive(Debug)]
struct Stage {
    name: &'static str,
    tests: u64,
    took: Duration,
    /// Processor time of what it ran, where the system says so. Stages that run
    /// beside others have none of their own.
    processor: Option<Duration>,
}

/// What a runner printed, added up.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) passed: u64,
    /// Each test with the time it took.
    times: BTreeMap<String, Duration>,
}

/// Stages as they end, and what failed in them.
#[derive(Debug, Default)]
pub(crate) struct Report {
    stages: Vec<Stage>,
    times: BTreeMap<String, Duration>,
    failures: Vec<String>,
}

impl Report {
    /// Runs a stage that the following ones do not build on: its failure is kept
    /// for the end, so that one run shows all of them.
    pub(crate) fn stage(&mut self, name: &'static str, work: impl FnOnce() -> Result<Ran, String>) {
        if let Err(error) = self.needed(name, work) {
            println!("{error}");
            self.failures.push(error);
        }
    }

    /// Runs a stage without which the following ones mean nothing.
    pub(crate) fn needed(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> Result<Ran, String>,
    ) -> Result<(), String> {
        println!("\n── {name}");
        let (began, before) = (Instant::now(), processor_time());
        let result = work();
        let processor = processor_time()
            .zip(before)
            .map(|(after, before)| after.saturating_sub(before));
        self.add(name, began.elapsed(), processor, result)
    }

    /// Takes in a stage that ran beside others.
    pub(crate) fn beside(
        &mut self,
        name: &'static str,
        took: Duration,
        result: Result<Ran, String>,
    ) -> Result<(), String> {
        self.add(name, took, None, result)
    }

    /// Keeps a failure for the end.
    pub(crate) fn fail(&mut self, error: String) {
        println!("{error}");
        self.failures.push(error);
    }

    fn add(
        &mut self,
        name: &'static str,
        took: Duration,
        processor: Option<Duration>,
        result: Result<Ran, String>,
    ) -> Result<(), String> {
        let (tests, result) = match result {
            Ok(ran) => {
                self.times.extend(ran.times);
                (ran.passed, Ok(()))
            }
            Err(error) => (0, Err(format!("{name}: {error}"))),
        };
        self.stages.push(Stage {
            name,
            tests,
            took,
            processor,
        });
        result
    }

    /// Prints the tables; an error if anything failed.
    pub(crate) fn finish(&self, took: Duration) -> Result<(), String> {
        let slowest = self.slowest();
        if !slowest.is_empty() {
            println!("\n{:>8}  the {} slowest tests", "seconds", slowest.len());
            for (name, took) in slowest {
                println!("{:>8.1}  {name}", took.as_secs_f64());
            }
        }
        println!(
            "\n{:<28}{:>8}{:>10}{:>14}",
            "stage", "tests", "seconds", "processor"
        );
        for stage in &self.stages {
            let tests = if stage.tests == 0 {
                String::new()
            } else {
                stage.tests.to_string()
            };
            let processor = stage.processor.map_or("beside".to_owned(), |time| {
                format!("{:.1}", time.as_secs_f64())
            });
            println!(
                "{:<28}{tests:>8}{:>10.1}{processor:>14}",
                stage.name,
                stage.took.as_secs_f64()
            );
        }
        println!("{:<36}{:>10.1}", "all", took.as_secs_f64());
        let total: u64 = self.stages.iter().map(|stage| stage.tests).sum();
        if self.failures.is_empty() {
            println!("{total} passed, 0 failed");
            Ok(())
        } else {
            Err(self.failures.join("\n"))
        }
    }

    fn slowest(&self) -> Vec<(&str, Duration)> {
        let mut times: Vec<_> = self
            .times
            .iter()
            .map(|(name, took)| (name.as_str(), *took))
            .collect();
        times.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
        times.truncate(NAMED);
        times
    }
}

/// User and system time of everything this process has waited for.
pub(crate) fn processor_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // After the name in parentheses; fields 16 and 17 of the whole line, in
    // hundredths of a second on every Linux there is.
    let fields: Vec<_> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Duration::from_millis(10 * (ticks(13)? + ticks(14)?)))
}

/// Runs it in view of the person and adds up the tests it says it ran.
pub(crate) fn counted(command: &mut Command) -> Result<Ran, String> {
    // The summary of nextest is on standard error, that of cargo test on
    // standard output: one pipe takes both.
    let (reader, writer) = std::io::pipe().map_err(|error| error.to_string())?;
    let errors = writer.try_clone().map_err(|error| error.to_string())?;
    command.stdout(writer).stderr(errors);
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    // The command holds the writing ends: the pipe must end with the child.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut ran = Ran::default();
    for line in BufReader::new(reader).lines() {
        let line = line.map_err(|error| error.to_string())?;
        println!("{line}");
        ran.read(&line);
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    if status.success() {
        Ok(ran)
    } else {
        Err(format!("there are failures ({status})"))
    }
}

/// Adds up the tests of a command that runs beside others; what it prints is shown
/// only if it fails.
pub(crate) fn captured(command: &mut Command) -> Result<Ran, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() {
        let mut ran = Ran::default();
        text.lines().for_each(|line| ran.read(line));
        Ok(ran)
    } else {
        println!("{text}{}", String::from_utf8_lossy(&output.stderr));
        Err(format!("there are failures ({})", output.status))
    }
}

impl Ran {
    fn read(&mut self, line: &str) {
        self.passed += passed_in(line);
        if let Some((name, took)) = nextest_time(line).or_else(|| browser_time(line)) {
            self.times.insert(name, took);
        }
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

/// `PASS [   0.009s] ( 1/15) mission::product crash::survives`, and the same for
/// other outcomes.
fn nextest_time(line: &str) -> Option<(String, Duration)> {
    let (outcome, rest) = line.trim_start().split_once(" [")?;
    let (seconds, rest) = rest.split_once("s] ")?;
    let is_outcome = outcome
        .chars()
        .all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == ' ');
    let took = seconds.trim().parse().ok()?;
    let name = match rest.trim_start().strip_prefix('(') {
        Some(numbered) => numbered.split_once(") ")?.1,
        None => rest,
    };
    (is_outcome && outcome != "SLOW" && !outcome.is_empty())
        .then(|| (name.trim().to_owned(), Duration::from_secs_f64(took)))
}

/// `✓  1 [board] › tests/board.spec.ts:12:1 › moves a task (2.3s)`
fn browser_time(line: &str) -> Option<(String, Duration)> {
    let (_, name) = line.split_once("] › ")?;
    let (name, took) = name.trim_end().strip_suffix(')')?.rsplit_once(" (")?;
    let scaled = |suffix: &str, scale: f64| {
        let number: f64 = took.strip_suffix(suffix)?.parse().ok()?;
        Some(number * scale)
    };
    let seconds = scaled("ms", 0.001)
        .or_else(|| scaled("s", 1.0))
        .or_else(|| scaled("m", 60.0))?;
    Some((name.to_owned(), Duration::from_secs_f64(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_and_times_are_read_from_what_every_runner_prints() {
        let printed = [
            "        PASS [   1.500s] ( 1/15) mission::product crash::survives",
            "     TIMEOUT [  60.000s] (   2/1490) mission::product slots::start",
            "        SLOW [> 60.000s] ( 3/15) mission::product slow::one",
            "     Summary [ 591.200s] 1490 tests run: 1489 passed (2 slow), 1 failed, 0 skipped",
            "  ✓   1 [board] › tests/board.spec.ts:12:1 › moves a task (2.3s)",
            "  ✓   2 [board] › tests/board.spec.ts:40:1 › shows › a task (350ms)",
            "  41 passed (6.6m)",
            "# pass 7",
            "test result: ok. 3 passed; 0 failed; 0 ignored",
            "anything [else] there is (2s)",
        ];
        let mut ran = Ran::default();
        for line in printed {
            ran.read(line);
        }
        let time = |name: &str, millis| (name.to_owned(), Duration::from_millis(millis));
        let expected = Ran {
            passed: 1489 + 41 + 7 + 3,
            times: BTreeMap::from([
                time("mission::product crash::survives", 1500),
                time("mission::product slots::start", 60_000),
                time("tests/board.spec.ts:12:1 › moves a task", 2300),
                time("tests/board.spec.ts:40:1 › shows › a task", 350),
            ]),
        };
        assert_eq!(ran, expected);
    }

    #[test]
    fn a_failed_stage_is_kept_for_the_end_and_the_slowest_test_comes_first() {
        let mut report = Report::default();
        report.stage("broken", || Err("no".to_owned()));
        let line = "PASS [ 0.5s] a quick";
        let slow = "PASS [ 2.5s] b slow";
        report.stage("well", || {
            let mut ran = Ran::default();
            ran.read(line);
            ran.read(slow);
            Ok(ran)
        });
        let names: Vec<_> = report.slowest().iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["b slow", "a quick"]);
        assert_eq!(
            report.finish(Duration::from_secs(3)),
            Err("broken: no".to_owned())
        );
    }
}
