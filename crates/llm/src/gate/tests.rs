//! What the gate decides, under whatever is done to it.

use std::time::{Duration, Instant};

use missiond_core::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::formats::{Failure, FailureKind};

const LIMITS: BreakerLimits = BreakerLimits {
    window: Duration::from_secs(60),
    least: 5,
    open: Duration::from_secs(10),
    most: Duration::from_secs(60),
};

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn failure(kind: FailureKind, retry_after: Option<Duration>) -> Failure {
    Failure {
        kind,
        message: String::new(),
        code: String::new(),
        retry_after,
        resets_at: None,
    }
}

fn tried() -> Attempts {
    Attempts {
        sent: 1,
        delivered: false,
        left: secs(60),
        has_fallback: true,
        jitter: 0.0,
    }
}

const KINDS: [FailureKind; 13] = [
    FailureKind::RateLimit,
    FailureKind::Overload,
    FailureKind::Quota,
    FailureKind::Key,
    FailureKind::NoModel,
    FailureKind::ContextTooLong,
    FailureKind::TooLarge,
    FailureKind::Policy,
    FailureKind::Invalid,
    FailureKind::Server,
    FailureKind::Unreachable,
    FailureKind::Broken,
    FailureKind::Timeout,
];

#[test]
fn each_kind_of_too_much_is_answered_in_its_own_way() {
    let now = Timestamp::from_micros(0);
    let next = |kind, wait| after_failure(&failure(kind, wait), tried(), now);
    assert_eq!(
        next(FailureKind::RateLimit, Some(secs(7))),
        Next::Retry { after: secs(7) }
    );
    assert_eq!(next(FailureKind::RateLimit, Some(secs(40))), Next::Fallback);
    assert_eq!(
        next(FailureKind::Overload, None),
        Next::Retry {
            after: Duration::from_millis(500)
        }
    );
    assert_eq!(
        next(FailureKind::Quota, None),
        Next::Park {
            until: now.plus(secs(3600))
        }
    );
    assert_eq!(next(FailureKind::Key, None), Next::Fallback);
    assert_eq!(
        next(FailureKind::Policy, None),
        Next::Fail,
        "no laxer provider is looked for"
    );
    assert_eq!(next(FailureKind::Invalid, None), Next::Fail);
    let worn = Attempts { sent: 4, ..tried() };
    assert_eq!(
        after_failure(&failure(FailureKind::Overload, None), worn, now),
        Next::Fallback
    );
    let alone = Attempts {
        has_fallback: false,
        ..tried()
    };
    assert_eq!(
        after_failure(&failure(FailureKind::RateLimit, Some(secs(40))), alone, now),
        Next::Retry { after: secs(40) },
        "where nobody else can be asked it is waited for, if there is time"
    );
}

proptest! {
    #[test]
    fn no_failure_is_followed_by_something_unsafe(
        kind in prop::sample::select(&KINDS[..]),
        sent in 1u32..10,
        delivered: bool,
        has_fallback: bool,
        left in 0u64..100,
        asked in prop::option::of(0u64..200),
        jitter in 0.0f64..1.0,
    ) {
        let tried = Attempts { sent, delivered, left: secs(left), has_fallback, jitter };
        let next = after_failure(&failure(kind, asked.map(secs)), tried, Timestamp::from_micros(0));
        if delivered {
            prop_assert!(!matches!(next, Next::Retry { .. } | Next::Fallback), "it would be said twice");
        }
        if let Next::Retry { after } = next {
            prop_assert!(sent < 4 && after < tried.left);
            prop_assert!(asked.is_none_or(|asked| after >= secs(asked)), "sooner than asked for");
        }
        prop_assert!(has_fallback || next != Next::Fallback);
        prop_assert_eq!(matches!(next, Next::Park { .. }), kind == FailureKind::Quota);
    }

    /// Whatever happens: while it is open nothing passes, one probe at a time, and a
    /// provider that is well is used again.
    #[test]
    fn a_breaker_lets_one_probe_pass_and_recovers(steps in prop::collection::vec((0u64..20, 0u8..3), 1..120)) {
        let mut breaker = Breaker::default();
        let mut now = Instant::now();
        let mut probes = 0u32;
        for (pause, health) in steps {
            now += secs(pause);
            let before = breaker.standing(now);
            let admitted = breaker.admit(&LIMITS, now).is_ok();
            match before {
                Standing::Closed => prop_assert!(admitted),
                Standing::Open { wait } => prop_assert_eq!(admitted, wait.is_zero()),
                Standing::Probing => prop_assert!(!admitted, "a second probe"),
            }
            if admitted {
                if breaker.standing(now) == Standing::Probing {
                    probes += 1;
                    prop_assert!(breaker.admit(&LIMITS, now).is_err(), "a second probe");
                }
                let health = [Health::Well, Health::Failed, Health::Neither][usize::from(health)];
                breaker.record(&LIMITS, health, now);
            }
        }
        let _ = probes;
        now += secs(61);
        prop_assert!(breaker.admit(&LIMITS, now).is_ok());
        breaker.record(&LIMITS, Health::Well, now);
        prop_assert_eq!(breaker.standing(now), Standing::Closed);
    }

    #[test]
    fn a_pace_is_never_exceeded(asks in prop::collection::vec((0u64..5000, 1u64..300), 1..100)) {
        let start = Instant::now();
        let limits = PaceLimits { requests: Some(30), tokens: Some(1000) };
        let mut pace = Pace::new(limits, start);
        let mut now = start;
        let mut sent: Vec<(Instant, u64)> = Vec::new();
        for (pause, tokens) in asks {
            now += Duration::from_millis(pause);
            if let Some(wait) = pace.wait(tokens, now) {
                now += wait;
                prop_assert_eq!(pace.wait(tokens, now), None, "whoever waited may go");
            }
            pace.take(tokens, now);
            sent.push((now, tokens));
        }
        // In any minute: what was there at its beginning and what came in it.
        for (at, _) in &sent {
            let minute = sent.iter().filter(|(t, _)| t >= at && *t < *at + secs(60));
            let (requests, tokens) = minute.fold((0, 0), |(r, t), (_, n)| (r + 1, t + n));
            prop_assert!(requests <= 61 && tokens <= 2300, "{} and {}", requests, tokens);
        }
    }
}

#[test]
fn a_provider_that_is_down_for_a_minute_is_asked_no_more_than_its_breaker_allows() {
    let mut breaker = Breaker::default();
    let start = Instant::now();
    let mut asked = 0;
    for tenth in 0..1200 {
        let now = start + Duration::from_millis(100 * tenth);
        let down = tenth < 600;
        if breaker.admit(&LIMITS, now).is_ok() {
            asked += u32::from(down);
            breaker.record(
                &LIMITS,
                if down { Health::Failed } else { Health::Well },
                now,
            );
        }
    }
    // Five that opened it, then probes after 10, 20 and 40 seconds.
    assert_eq!(asked, 7);
    assert_eq!(breaker.standing(start + secs(120)), Standing::Closed);
}

fn gate(at_once: u32) -> Arc<Gate> {
    let gate = Arc::new(Gate::default());
    let limits = Limits {
        at_once,
        pace: PaceLimits::default(),
        breaker: LIMITS,
    };
    gate.configure(&[("p".to_owned(), limits)].into());
    gate
}

#[tokio::test]
async fn whoever_is_more_urgent_is_let_in_first() {
    let gate = gate(1);
    let far = Instant::now() + secs(60);
    let now = Timestamp::from_micros(0);
    let first = gate
        .pass("p", Class::Background, 1, now, far)
        .await
        .unwrap();
    let (order, mut came) = tokio::sync::mpsc::unbounded_channel();
    let classes = [Class::Background, Class::Agent, Class::Person, Class::Agent];
    let mut tasks = Vec::new();
    for (number, class) in classes.into_iter().enumerate() {
        let (gate_of_task, order) = (Arc::clone(&gate), order.clone());
        tasks.push(tokio::spawn(async move {
            let passed = gate_of_task.pass("p", class, 1, now, far).await.unwrap();
            order.send(number).unwrap();
            passed.tell(Health::Well);
        }));
        while gate.state("p", now).unwrap().waiting <= u32::try_from(number).unwrap() {
            tokio::task::yield_now().await;
        }
    }
    first.tell(Health::Well);
    for task in tasks {
        task.await.unwrap();
    }
    let order: Vec<_> = std::iter::from_fn(|| came.try_recv().ok()).collect();
    assert_eq!(order, [2, 1, 3, 0]);
    assert_eq!(gate.state("p", now).unwrap().running, 0);
}

#[tokio::test]
async fn whoever_goes_away_leaves_no_place_taken() {
    let gate = gate(1);
    let now = Timestamp::from_micros(0);
    let first = gate
        .pass("p", Class::Agent, 1, now, Instant::now() + secs(60))
        .await
        .unwrap();
    let late = gate.pass("p", Class::Agent, 1, now, Instant::now()).await;
    assert!(matches!(late, Err(Closed::Deadline { .. })));
    drop(first);
    let next = gate
        .pass("p", Class::Agent, 1, now, Instant::now() + secs(60))
        .await;
    assert!(next.is_ok());
}

#[tokio::test]
async fn a_parked_provider_is_asked_again_after_its_reset() {
    let gate = gate(4);
    let now = Timestamp::from_micros(0);
    let until = now.plus(secs(100));
    gate.park(
        "p",
        Parking {
            until,
            why: "no money".to_owned(),
        },
    );
    let far = Instant::now() + secs(60);
    let refused = gate
        .pass("p", Class::Person, 1, now, far)
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("no money"), "{refused}");
    assert!(gate.pass("p", Class::Person, 1, until, far).await.is_ok());
}
