//! Counts stored events per hour and kind, so that a plot of the last weeks
//! does not read the whole timeline.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use missiond_core::{Event, TimelineEvent, Timestamp};
use missiond_store::{StoreError, Tx, activity};

use crate::{Consumer, Pace};

pub const ACTIVITY_CONSUMER: &str = "activity";

const HOUR_US: i64 = 3_600_000_000;

#[derive(Debug)]
pub struct Activity;

impl Consumer for Activity {
    fn name(&self) -> &'static str {
        ACTIVITY_CONSUMER
    }

    fn wants(&self, _: &Event) -> bool {
        true
    }

    fn pace(&self) -> Pace {
        Pace {
            quiet: Duration::from_millis(500),
            count: 500,
        }
    }

    fn apply<'t>(
        &self,
        tx: &'t mut Tx<'_>,
        events: Arc<[Arc<TimelineEvent>]>,
    ) -> BoxFuture<'t, Result<(), StoreError>> {
        Box::pin(async move {
            for ((hour, kind), count) in count(&events) {
                activity::add(tx, hour, kind, count).await?;
            }
            Ok(())
        })
    }
}

fn count(events: &[Arc<TimelineEvent>]) -> BTreeMap<(Timestamp, &'static str), i64> {
    let mut counts = BTreeMap::new();
    for event in events {
        let hour = Timestamp::from_micros(event.at.as_micros().div_euclid(HOUR_US) * HOUR_US);
        *counts.entry((hour, event.event.kind())).or_default() += 1;
    }
    counts
}
