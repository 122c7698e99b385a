//! What the test command says at its end: the time of every stage, the slowest
//! tests and the flaky ones. All come from what the runners print while they run.

use std::collections::{BTreeMap, BTreeSet};
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
    outcome: Outcome,
    took: Duration,
    /// Processor time of what it ran, where the system says so. Stages that run
    /// beside others have none of their own.
    processor: Option<Duration>,
}

/// Whether a stage did anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Ran,
    Skipped,
}

/// What a flaky test does to the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// It is named at the end, and the run succeeds.
    Lenient,
    /// It fails the run.
    Strict,
}

/// What a runner printed, added up.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) passed: u64,
    /// Each test with the time it took.
    times: BTreeMap<String, Duration>,
    /// The tests that failed and passed when they were tried again.
    flaky: BTreeSet<String>,
    /// Why the runner did not succeed. What it printed before counts all the same.
    failure: Option<String>,
    /// Why nothing was looked at.
    skip_reason: Option<String>,
}

/// Stages as they end, and what failed in them.
#[derive(Debug, Default)]
pub(crate) struct Report {
    stages: Vec<Stage>,
    times: BTreeMap<String, Duration>,
    flaky: BTreeSet<String>,
    failures: Vec<String>,
    /// The stages that could not be run here, each with the reason.
    skipped: Vec<String>,
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
        let ran = result.unwrap_or_else(|error| Ran {
            failure: Some(error),
            ..Ran::default()
        });
        let mut outcome = Outcome::Ran;
        if let Some(why) = &ran.skip_reason {
            outcome = Outcome::Skipped;
            println!("skipped: {why}");
            self.skipped.push(format!("{name}: {why}"));
        }
        self.times.extend(ran.times);
        self.flaky.extend(ran.flaky);
        let (tests, failure) = (ran.passed, ran.failure);
        self.stages.push(Stage {
            name,
            tests,
            outcome,
            took,
            processor,
        });
        failure.map_or(Ok(()), |error| Err(format!("{name}: {error}")))
    }

    /// Prints the tables; an error if anything failed.
    pub(crate) fn finish(&self, took: Duration, strictness: Strictness) -> Result<(), String> {
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
            let tests = match (stage.outcome, stage.tests) {
                (Outcome::Skipped, _) => "skipped".to_owned(),
                (Outcome::Ran, 0) => String::new(),
                (Outcome::Ran, tests) => tests.to_string(),
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
        let summary = self.summary(strictness)?;
        println!("{summary}");
        Ok(())
    }

    /// The last lines of the run; an error if it failed.
    fn summary(&self, strictness: Strictness) -> Result<String, String> {
        let flaky = self.flaky_tests();
        let is_failed =
            !self.failures.is_empty() || (strictness == Strictness::Strict && flaky.is_some());
        if is_failed {
            let mut lines = self.failures.clone();
            lines.extend(flaky);
            return Err(lines.join("\n"));
        }
        let total: u64 = self.stages.iter().map(|stage| stage.tests).sum();
        let mut lines = vec![format!("{total} passed, 0 failed")];
        if !self.skipped.is_empty() {
            lines.push(format!(
                "{} skipped, which proves nothing:",
                self.skipped.len()
            ));
            lines.extend(self.skipped.iter().map(|stage| format!("  {stage}")));
        }
        lines.extend(flaky);
        Ok(lines.join("\n"))
    }

    /// Every flaky test by its name, under a sentence that says what they are.
    fn flaky_tests(&self) -> Option<String> {
        if self.flaky.is_empty() {
            return None;
        }
        let mut lines = vec![format!(
            "{} flaky: failed, and passed when tried again. Each is a defect; find the race:",
            self.flaky.len()
        )];
        lines.extend(self.flaky.iter().map(|name| format!("  {name}")));
        Some(lines.join("\n"))
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
    ran.failure = (!status.success()).then(|| format!("there are failures ({status})"));
    Ok(ran)
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
    /// Of a stage that counts its tests itself.
    pub(crate) fn passed(passed: u64) -> Self {
        Self {
            passed,
            ..Self::default()
        }
    }

    /// Of a stage that could not be run here, for a reason that is a sentence.
    pub(crate) fn skipped(why: impl Into<String>) -> Self {
        Self {
            skip_reason: Some(why.into()),
            ..Self::default()
        }
    }

    pub(crate) fn skip_reason(&self) -> Option<&str> {
        self.skip_reason.as_deref()
    }

    fn read(&mut self, line: &str) {
        self.passed += passed_in(line);
        if let Some(end) = nextest_end(line).or_else(|| browser_end(line)) {
            if end.is_flaky {
                self.flaky.insert(end.name.clone());
            }
            self.times.insert(end.name, end.took);
        }
    }
}

/// The end of one test, as a line of a runner tells it.
struct End {
    name: String,
    took: Duration,
    /// It passed, but not at the first try.
    is_flaky: bool,
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
    // The browser's runner does not count these among those that passed.
    if let Some(number) = line.strip_suffix(" flaky") {
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
/// other outcomes. A flaky test is `TRY 2 PASS` when it ends and `FLAKY 2/2` in the
/// summary.
fn nextest_end(line: &str) -> Option<End> {
    let (outcome, rest) = line.trim_start().split_once(" [")?;
    let (seconds, rest) = rest.split_once("s] ")?;
    let is_outcome = outcome.chars().all(|letter| {
        letter.is_ascii_uppercase() || letter.is_ascii_digit() || " /".contains(letter)
    });
    let took = seconds.trim().parse().ok()?;
    let name = match rest.trim_start().strip_prefix('(') {
        Some(numbered) => numbered.split_once(") ")?.1,
        None => rest,
    };
    let tried_again = outcome.starts_with("TRY ") && outcome.ends_with(" PASS");
    (is_outcome && outcome != "SLOW" && !outcome.is_empty()).then(|| End {
        name: name.trim().to_owned(),
        took: Duration::from_secs_f64(took),
        is_flaky: tried_again || outcome.starts_with("FLAKY "),
    })
}

/// `✓  1 [board] › tests/board.spec.ts:12:1 › moves a task (2.3s)`, where the name
/// ends with `(retry #1)` at the second try.
fn browser_end(line: &str) -> Option<End> {
    let (mark, name) = line.split_once("] › ")?;
    let (name, took) = name.trim_end().strip_suffix(')')?.rsplit_once(" (")?;
    let scaled = |suffix: &str, scale: f64| {
        let number: f64 = took.strip_suffix(suffix)?.parse().ok()?;
        Some(number * scale)
    };
    let seconds = scaled("ms", 0.001)
        .or_else(|| scaled("s", 1.0))
        .or_else(|| scaled("m", 60.0))?;
    let (name, tried_again) = match name.rsplit_once(" (retry #") {
        Some((name, _)) => (name, true),
        None => (name, false),
    };
    Some(End {
        name: name.to_owned(),
        took: Duration::from_secs_f64(seconds),
        is_flaky: tried_again && mark.trim_start().starts_with('✓'),
    })
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
            "  TRY 1 FAIL [   0.006s] (───) mission::product slots::read",
            "   DELAY 2/2 by   1.000s (───) mission::product slots::read",
            "  TRY 2 PASS [   0.200s] ( 4/15) mission::product slots::read",
            "  TRY 1 FAIL [   0.006s] (───) mission::product slots::stop",
            "  TRY 2 FAIL [   0.300s] ( 5/15) mission::product slots::stop",
            "     Summary [ 591.200s] 1490 tests run: 1489 passed (2 slow, 1 flaky), 1 failed, 0 skipped",
            "   FLAKY 2/2 [   0.200s] ( 4/15) mission::product slots::read",
            "  ✓   1 [board] › tests/board.spec.ts:12:1 › moves a task (2.3s)",
            "  ✓   2 [board] › tests/board.spec.ts:40:1 › shows › a task (350ms)",
            "  ✘   3 [board] › tests/board.spec.ts:50:1 › drags a task (1.0s)",
            "  ✓   4 [board] › tests/board.spec.ts:50:1 › drags a task (retry #1) (1.5s)",
            "  ✘   5 [board] › tests/board.spec.ts:60:1 › drops a task (retry #1) (1.2s)",
            "  1 flaky",
            "    [board] › tests/board.spec.ts:50:1 › drags a task ─────",
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
            passed: 1489 + 1 + 41 + 7 + 3,
            times: BTreeMap::from([
                time("mission::product crash::survives", 1500),
                time("mission::product slots::read", 200),
                time("mission::product slots::start", 60_000),
                time("mission::product slots::stop", 300),
                time("tests/board.spec.ts:12:1 › moves a task", 2300),
                time("tests/board.spec.ts:40:1 › shows › a task", 350),
                time("tests/board.spec.ts:50:1 › drags a task", 1500),
                time("tests/board.spec.ts:60:1 › drops a task", 1200),
            ]),
            flaky: BTreeSet::from([
                "mission::product slots::read".to_owned(),
                "tests/board.spec.ts:50:1 › drags a task".to_owned(),
            ]),
            failure: None,
            skip_reason: None,
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
            report.finish(Duration::from_secs(3), Strictness::Lenient),
            Err("broken: no".to_owned())
        );
    }

    #[test]
    fn a_flaky_test_is_named_last_and_fails_only_a_strict_run() {
        let mut report = Report::default();
        report.stage("well", || {
            let mut ran = Ran::default();
            ran.read("TRY 2 PASS [ 0.5s] (2/2) a slots::read");
            ran.read("Summary [ 1.5s] 2 tests run: 2 passed (1 flaky), 0 skipped");
            Ok(ran)
        });
        let flaky = "1 flaky: failed, and passed when tried again. Each is a defect; \
                     find the race:\n  a slots::read";
        assert_eq!(
            report.summary(Strictness::Lenient),
            Ok(format!("2 passed, 0 failed\n{flaky}"))
        );
        assert_eq!(report.summary(Strictness::Strict), Err(flaky.to_owned()));
        // It is named beside what failed, too, even by the same runner.
        report.stage("broken", || {
            let mut ran = Ran::default();
            ran.read("TRY 2 PASS [ 0.5s] (1/2) a slots::stop");
            ran.failure = Some("there are failures".to_owned());
            Ok(ran)
        });
        let error = report.summary(Strictness::Lenient).unwrap_err();
        assert!(
            error.starts_with("broken: there are failures\n2 flaky: "),
            "{error}"
        );
        assert!(
            error.ends_with("\n  a slots::read\n  a slots::stop"),
            "{error}"
        );
    }

    #[test]
    fn a_skipped_stage_is_counted_and_says_why() {
        let mut report = Report::default();
        report.stage("advisories", || Ok(Ran::skipped("there is no network")));
        report.stage("well", || Ok(Ran::passed(2)));
        let summary = report.summary(Strictness::Strict).unwrap();
        let expected = "2 passed, 0 failed\n1 skipped, which proves nothing:\n  \
                        advisories: there is no network";
        assert_eq!(summary, expected);
    }
}
