//! A clock that is set: what waits by it goes by what it says, what waits for a while does
//! not notice.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use missiond_core::{Clock, SystemClock, Timestamp};

use crate::room::{ask_of, good, http, room_at, serve};

const DAY: i64 = 24 * 3600;

/// Runs as the machine's does, so many seconds off.
#[derive(Debug, Default)]
struct SetClock(AtomicI64);

impl SetClock {
    fn set_off(&self, secs: i64) {
        self.0.store(secs, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        let off = self.0.load(Ordering::SeqCst) * 1_000_000;
        Timestamp::from_micros(SystemClock.now().as_micros() + off)
    }
}

#[tokio::test]
async fn a_wait_that_was_asked_for_is_as_long_as_before() {
    for jump in [-400 * DAY, 400 * DAY] {
        let slow = "{\"error\":{\"message\":\"slow\"}}";
        let server = serve(vec![http(429, "retry-after-ms: 400\r\n", slow), good()]);
        let clock = Arc::new(SetClock::default());
        let folder = tempfile::tempdir().unwrap();
        let providers = [("p", server.url.as_str())];
        let room = room_at(folder, "day_usd = 1.0", &providers, Arc::clone(&clock) as _).await;
        let llm = Arc::clone(&room.llm);
        let asking = tokio::spawn(async move {
            let ask = ask_of(&["p/m"], Duration::from_secs(20));
            llm.ask(&ask, &mut |_| {}).await
        });
        while server.asked.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        clock.set_off(jump);
        let answered = asking.await.unwrap().unwrap();
        assert_eq!(answered.answer.text(), "hello");
        let mut outcomes = room.outcomes().await;
        outcomes.sort();
        assert_eq!(outcomes, ["answered", "failed"]);
        // Nobody pays for a day twice, or not at all.
        let costs = room.requests().await.into_iter().map(|one| one.cost);
        assert_eq!(costs.map(Option::unwrap).sum::<u64>(), 20);
    }
}

#[tokio::test]
async fn a_quota_is_there_again_when_the_clock_says_so() {
    let clock = Arc::new(SetClock::default());
    let resets = clock.now().as_micros() / 1_000_000 + DAY;
    let spent = format!(
        "{{\"error\":{{\"type\":\"usage_limit_reached\",\"message\":\"spent\",\"resets_at\":{resets}}}}}"
    );
    let server = serve(vec![http(429, "", &spent), good()]);
    let folder = tempfile::tempdir().unwrap();
    let providers = [("p", server.url.as_str())];
    let room = room_at(folder, "", &providers, Arc::clone(&clock) as _).await;
    assert!(room.ask(&["p/m"]).await.is_err());
    clock.set_off(-30 * DAY);
    let parked = room.ask(&["p/m"]).await.unwrap_err().to_string();
    assert!(parked.contains("nothing left of its quota"), "{parked}");
    assert_eq!(server.asked.load(Ordering::SeqCst), 1);
    clock.set_off(2 * DAY);
    assert!(room.ask(&["p/m"]).await.is_ok());
}
