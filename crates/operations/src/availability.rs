//! How much of the time a daemon was there, from its runs on record.
//!
//! A run lasts until it closed or, when it crashed, until its last sign of life. The time
//! between two runs belongs to the end of the earlier one: planned after a stop, lost after
//! a crash. Runs that overlap, as two homes on one PostgreSQL server have them, count once.

use std::time::Duration;

use missiond_api::operations::system::Availability;
use missiond_core::{RunEnd, Timestamp};
use missiond_store::daemon_state::SeenRun;

pub(crate) const WINDOW: Duration = Duration::from_secs(30 * 24 * 3600);

/// Older starts are not looked at; what is said begins with the first that is.
pub(crate) const MOST_RUNS: u32 = 1_000;

/// `runs` with the oldest first. A run without an end lives, as far as anybody knows.
pub(crate) fn availability(runs: &[SeenRun], now: Timestamp) -> Option<Availability> {
    let window = now.minus(WINDOW);
    let since = runs.first()?.run.started_at.max(window);
    let [mut up, mut stopped, mut crashed] = [Duration::ZERO; 3];
    let [mut starts, mut stops, mut crashes] = [0; 3];
    let mut reached = since;
    let mut last_end = None;
    for SeenRun { run, last_seen } in runs {
        let alive_until = match run.end {
            None => now,
            Some(RunEnd::Clean) => run.ended_at.unwrap_or(*last_seen),
            Some(RunEnd::Crashed) => *last_seen,
        };
        let gap = run.started_at.since(reached);
        match last_end {
            Some(RunEnd::Crashed) => crashed += gap,
            _ => stopped += gap,
        }
        reached = reached.max(run.started_at);
        up += alive_until.since(reached);
        if alive_until >= reached || last_end.is_none() {
            reached = reached.max(alive_until);
            last_end = run.end;
        }
        starts += u64::from(run.started_at >= window);
        match run.end {
            Some(RunEnd::Clean) => stops += 1,
            Some(RunEnd::Crashed) => crashes += 1,
            None => {}
        }
    }
    Some(Availability {
        since,
        up_secs: up.as_secs(),
        stopped_secs: stopped.as_secs(),
        crashed_secs: crashed.as_secs(),
        up_percent: percent(up, stopped + crashed),
        available_percent: percent(up, crashed),
        starts,
        stops,
        crashes,
    })
}

/// Rounded down to a thousandth: 99.9999 is not 100.
fn percent(up: Duration, down: Duration) -> f64 {
    if down.is_zero() {
        return 100.0;
    }
    let share = up.as_secs_f64() / (up + down).as_secs_f64();
    (share * 100_000.0).floor() / 1000.0
}

#[cfg(test)]
mod tests {
    use missiond_core::{DaemonId, DaemonRun};

    use super::*;

    const DAY: u64 = 24 * 3600;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(0).plus(Duration::from_secs(100 * DAY + seconds))
    }

    fn run(start: u64, seen: u64, end: Option<(RunEnd, u64)>) -> SeenRun {
        SeenRun {
            run: DaemonRun {
                id: DaemonId::generate(),
                host: "here".to_owned(),
                pid: 1,
                version: "0.1.0".to_owned(),
                started_at: at(start),
                ended_at: end.map(|(_, ended)| at(ended)),
                end: end.map(|(how, _)| how),
            },
            last_seen: at(seen),
        }
    }

    #[test]
    fn a_stop_is_planned_and_a_crash_is_lost_time() {
        let runs = [
            run(0, 90, Some((RunEnd::Clean, 100))),
            run(200, 290, Some((RunEnd::Crashed, 310))),
            run(310, 390, None),
        ];
        let found = availability(&runs, at(400)).unwrap();
        assert_eq!(
            found,
            Availability {
                since: at(0),
                up_secs: 100 + 90 + 90,
                stopped_secs: 100,
                crashed_secs: 20,
                up_percent: 70.0,
                available_percent: 93.333,
                starts: 3,
                stops: 1,
                crashes: 1,
            }
        );
    }

    #[test]
    fn only_the_last_thirty_days_count_and_runs_that_overlap_count_once() {
        let month = 30 * DAY;
        let runs = [
            run(0, month, None),
            run(month, month + 50, Some((RunEnd::Clean, month + 50))),
        ];
        let found = availability(&runs, at(month + 100)).unwrap();
        assert_eq!(found.since, at(100));
        assert_eq!(found.up_secs, month);
        assert_eq!((found.up_percent, found.starts, found.stops), (100.0, 1, 1));
        assert_eq!(availability(&[], at(0)), None);
    }
}
