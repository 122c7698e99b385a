//! Sees when something is wrong with what a slot does.
//!
//! Fed with output, screens and the time, and says what has begun and what is
//! over; it neither reads a clock nor tells anyone. Each anomaly is said once
//! until it is over. A slot is *stuck* when it works and no byte comes, or no
//! new word: a turning sign and a running clock are no words. It *floods* when
//! it writes more than the limit in each of several seconds. Its screen is
//! *garbage* when a share of it is replacement characters for a while.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use missiond_config::AnomaliesConfig;
use missiond_core::{Anomaly, PtyState};
use missiond_semantic::{Landed, Screen};

/// A screen is not looked at more often.
const LOOK_EVERY: Duration = Duration::from_millis(250);
const SECOND: Duration = Duration::from_secs(1);
/// Fewer replacement characters are an odd file name, not a garbled screen.
const LEAST_GARBAGE: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// It has begun; one sentence on what was seen.
    Found(Anomaly, String),
    Over(Anomaly),
}

#[derive(Debug)]
pub(super) struct Watch {
    limits: AnomaliesConfig,
    open: BTreeSet<Anomaly>,
    flood: Flood,
    /// Output has come since the last look.
    unseen: bool,
    looked: Duration,
    last_output: Duration,
    words: u64,
    words_changed: Duration,
    working_since: Option<Duration>,
    garbled_since: Option<Duration>,
}

/// Output counted second by second.
#[derive(Debug, Default)]
struct Flood {
    second: Duration,
    bytes: u64,
    /// Seconds in a row over the limit, and under it.
    over: u64,
    under: u64,
}

impl Watch {
    /// `open` is what an earlier daemon has found and not seen the end of.
    pub(super) fn new(limits: AnomaliesConfig, open: BTreeSet<Anomaly>) -> Self {
        Self {
            limits,
            open,
            flood: Flood::default(),
            unseen: true,
            looked: Duration::ZERO,
            last_output: Duration::ZERO,
            words: 0,
            words_changed: Duration::ZERO,
            working_since: None,
            garbled_since: None,
        }
    }

    pub(super) fn output(&mut self, bytes: u64, now: Duration) {
        self.flood.pass(now, self.limits.flood_bytes_per_second);
        self.flood.bytes += bytes;
        self.last_output = now;
        self.unseen = true;
    }

    /// What became of a text that was typed.
    pub(super) fn typed(&mut self, landed: Landed) -> Option<Change> {
        match landed {
            Landed::Stalled => {
                self.open.insert(Anomaly::PromptLost);
                None
            }
            Landed::Confirmed if self.open.remove(&Anomaly::PromptLost) => {
                Some(Change::Over(Anomaly::PromptLost))
            }
            Landed::Confirmed | Landed::Unconfirmed => None,
        }
    }

    /// When to look although nothing has come.
    pub(super) fn wake(&self) -> Option<Duration> {
        let look = self.unseen.then_some(self.looked + LOOK_EVERY);
        let stuck = (!self.open.contains(&Anomaly::Stuck))
            .then(|| self.stuck_at())
            .flatten();
        let flood = self.flood.bytes > 0 || self.open.contains(&Anomaly::OutputFlood);
        let flood = flood.then_some(self.flood.second + SECOND);
        let garbage = self
            .garbled_since
            .filter(|_| !self.open.contains(&Anomaly::ScreenGarbage));
        let garbage = garbage.map(|since| since + self.garbage_limit());
        [look, stuck, flood, garbage].into_iter().flatten().min()
    }

    /// Whether [`Self::check`] could say anything.
    pub(super) fn is_due(&self, state: PtyState, now: Duration) -> bool {
        state.is_working() != self.working_since.is_some()
            || self.wake().is_some_and(|due| due <= now)
    }

    pub(super) fn check(&mut self, state: PtyState, screen: &Screen, now: Duration) -> Vec<Change> {
        let mut changes = Vec::new();
        if self.unseen {
            self.remember(screen, now);
        }
        match (state.is_working(), self.working_since) {
            (true, None) => self.working_since = Some(now),
            (false, Some(_)) => self.working_since = None,
            _ => {}
        }
        let stuck = self.stuck_at().is_some_and(|at| at <= now);
        self.judge(Anomaly::Stuck, stuck, &mut changes, |watch| {
            let silent = now.saturating_sub(watch.last_output);
            let still = now.saturating_sub(watch.words_changed);
            format!(
                "it is read as {} and has written nothing for {} s, and no new word for {} s",
                state.as_str(),
                silent.as_secs(),
                still.as_secs()
            )
        });
        let limit = self.limits.flood_bytes_per_second;
        self.flood.pass(now, limit);
        let flood = if self.open.contains(&Anomaly::OutputFlood) {
            self.flood.under < self.limits.flood_secs
        } else {
            self.flood.over >= self.limits.flood_secs
        };
        self.judge(Anomaly::OutputFlood, flood, &mut changes, |watch| {
            let seconds = watch.flood.over;
            format!("it has written more than {limit} bytes in each of the last {seconds} s")
        });
        let garbage_limit = self.garbage_limit();
        let garbled = |since: Duration| now >= since + garbage_limit;
        let garbage = self.garbled_since.is_some_and(garbled);
        self.judge(Anomaly::ScreenGarbage, garbage, &mut changes, |watch| {
            let percent = watch.limits.garbage_percent;
            format!("at least {percent} % of what its screen shows is no text")
        });
        changes
    }

    fn remember(&mut self, screen: &Screen, now: Duration) {
        self.unseen = false;
        self.looked = now;
        let mut words = DefaultHasher::new();
        let (mut shown, mut odd) = (0, 0);
        for c in screen.rows.iter().flat_map(|row| row.text.chars()) {
            shown += usize::from(!c.is_whitespace());
            odd += usize::from(c == char::REPLACEMENT_CHARACTER);
            if c.is_alphabetic() {
                c.hash(&mut words);
            }
        }
        let words = words.finish();
        if words != self.words {
            self.words = words;
            self.words_changed = now;
        }
        let share = usize::try_from(self.limits.garbage_percent).unwrap_or(usize::MAX);
        let garbled = odd >= LEAST_GARBAGE && odd * 100 >= shown * share;
        self.garbled_since = match (garbled, self.garbled_since) {
            (true, Some(since)) => Some(since),
            (true, None) => Some(now),
            (false, _) => None,
        };
    }

    /// When it will be stuck if nothing comes.
    fn stuck_at(&self) -> Option<Duration> {
        let since = self.working_since?;
        let silent = Duration::from_secs(self.limits.silent_secs);
        let still = Duration::from_secs(self.limits.still_secs);
        Some((self.last_output.max(since) + silent).min(self.words_changed.max(since) + still))
    }

    fn garbage_limit(&self) -> Duration {
        Duration::from_secs(self.limits.garbage_secs)
    }

    fn judge(
        &mut self,
        anomaly: Anomaly,
        is_so: bool,
        changes: &mut Vec<Change>,
        detail: impl FnOnce(&Self) -> String,
    ) {
        if is_so && self.open.insert(anomaly) {
            changes.push(Change::Found(anomaly, detail(self)));
        } else if !is_so && self.open.remove(&anomaly) {
            changes.push(Change::Over(anomaly));
        }
    }
}

impl Flood {
    /// Lets the seconds up to `now` pass.
    fn pass(&mut self, now: Duration, limit: u64) {
        while now >= self.second + SECOND {
            if self.bytes > limit {
                self.over += 1;
                self.under = 0;
            } else {
                self.over = 0;
                self.under += 1;
            }
            self.bytes = 0;
            self.second += SECOND;
            let whole = now.saturating_sub(self.second).as_secs();
            // A long silence is not counted through second by second.
            if whole > 1 {
                self.over = 0;
                self.under += whole;
                self.second += SECOND * u32::try_from(whole).unwrap_or(u32::MAX);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use missiond_semantic::Size;

    use super::*;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn watch() -> Watch {
        let limits = AnomaliesConfig {
            silent_secs: 10,
            still_secs: 30,
            flood_bytes_per_second: 1000,
            flood_secs: 3,
            garbage_percent: 10,
            garbage_secs: 2,
            ..AnomaliesConfig::default()
        };
        Watch::new(limits, BTreeSet::new())
    }

    fn screen(line: &str) -> Screen {
        let size = Size {
            columns: 80,
            rows: 2,
        };
        Screen::from_lines(size, [line])
    }

    /// Looks four times a second; what is said, and when.
    fn run(
        watch: &mut Watch,
        from: u32,
        until: u32,
        state: PtyState,
        mut each: impl FnMut(&mut Watch, u32, Duration) -> Screen,
    ) -> Vec<(u32, Change)> {
        let mut told = Vec::new();
        for quarter in from * 4..until * 4 {
            let now = LOOK_EVERY * quarter;
            let screen = each(watch, quarter, now);
            if !watch.is_due(state, now) {
                continue;
            }
            let changes = watch.check(state, &screen, now);
            told.extend(changes.into_iter().map(|change| (quarter / 4, change)));
        }
        told
    }

    fn kinds(told: &[(u32, Change)]) -> Vec<(u32, Anomaly, bool)> {
        let kind = |(at, change): &(u32, Change)| match change {
            Change::Found(anomaly, _) => (*at, *anomaly, true),
            Change::Over(anomaly) => (*at, *anomaly, false),
        };
        told.iter().map(kind).collect()
    }

    #[test]
    fn silence_while_it_works_is_stuck_and_a_byte_ends_it() {
        let mut watch = watch();
        let silent = |_: &mut Watch, _, _| screen("Working");
        let told = run(&mut watch, 0, 20, PtyState::Idle, silent);
        assert_eq!(told, [], "who is idle may be silent");
        let told = run(&mut watch, 20, 35, PtyState::Thinking, silent);
        assert_eq!(kinds(&told), [(30, Anomaly::Stuck, true)]);
        watch.output(1, seconds(35.0));
        let told = run(&mut watch, 35, 40, PtyState::Thinking, silent);
        assert_eq!(kinds(&told), [(35, Anomaly::Stuck, false)]);
    }

    #[test]
    fn a_turning_sign_and_a_clock_are_no_progress_but_a_word_is() {
        let mut watch = watch();
        let turning = |watch: &mut Watch, quarter: u32, now| {
            watch.output(10, now);
            let sign = ['⠋', '⠙', '⠹'][quarter as usize % 3];
            screen(&format!("{sign} Working ({} • esc)", quarter / 4))
        };
        let told = run(&mut watch, 0, 45, PtyState::ToolRunning, turning);
        assert_eq!(kinds(&told), [(30, Anomaly::Stuck, true)]);
        let word = |watch: &mut Watch, _, now| {
            watch.output(10, now);
            screen("done with the first half")
        };
        let told = run(&mut watch, 45, 50, PtyState::ToolRunning, word);
        assert_eq!(kinds(&told), [(45, Anomaly::Stuck, false)]);
    }

    #[test]
    fn a_flood_is_several_full_seconds_and_ends_with_as_many_quiet_ones() {
        let mut watch = watch();
        let burst = |watch: &mut Watch, quarter: u32, now| {
            watch.output(
                if (quarter / 4).is_multiple_of(3) {
                    900
                } else {
                    0
                },
                now,
            );
            screen("burst")
        };
        assert_eq!(run(&mut watch, 0, 20, PtyState::Unknown, burst), []);
        let flood = |watch: &mut Watch, _, now| {
            watch.output(500, now);
            screen("flood")
        };
        let told = run(&mut watch, 20, 30, PtyState::Unknown, flood);
        assert_eq!(kinds(&told), [(23, Anomaly::OutputFlood, true)]);
        let told = run(&mut watch, 30, 40, PtyState::Unknown, |_, _, _| {
            screen("flood")
        });
        assert_eq!(kinds(&told), [(33, Anomaly::OutputFlood, false)]);
    }

    #[test]
    fn garbage_must_stay_and_must_be_more_than_an_odd_name() {
        let mut watch = watch();
        let show = |line: String| {
            move |watch: &mut Watch, _: u32, now| {
                watch.output(1, now);
                screen(&line)
            }
        };
        let odd = show("\u{fffd}".repeat(10));
        assert_eq!(run(&mut watch, 0, 10, PtyState::Unknown, odd), []);
        let garbage = show("\u{fffd}".repeat(40));
        let told = run(&mut watch, 10, 20, PtyState::Unknown, garbage);
        assert_eq!(kinds(&told), [(12, Anomaly::ScreenGarbage, true)]);
        let told = run(
            &mut watch,
            20,
            22,
            PtyState::Unknown,
            show("text".to_owned()),
        );
        assert_eq!(kinds(&told), [(20, Anomaly::ScreenGarbage, false)]);
    }

    #[test]
    fn what_an_earlier_daemon_found_is_over_when_it_is() {
        let open = BTreeSet::from([Anomaly::OutputFlood, Anomaly::ScreenGarbage]);
        let mut watch = Watch::new(watch().limits, open);
        let told = run(&mut watch, 0, 10, PtyState::Idle, |_, _, _| screen("text"));
        assert_eq!(
            kinds(&told),
            [
                (0, Anomaly::ScreenGarbage, false),
                (3, Anomaly::OutputFlood, false)
            ]
        );
    }
}
