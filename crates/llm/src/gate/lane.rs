//! The limits of some models of a provider, beside those of the whole.

use std::sync::Arc;
use std::time::Instant;

use super::pace::{Pace, PaceLimits};
use super::queue::Queue;

/// What some models may be asked together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelLimits {
    /// The name of a model as it is sent, or its beginning with a `*` behind.
    pub models: String,
    /// None is no limit but the provider's.
    pub at_once: Option<u32>,
    pub pace: PaceLimits,
}

impl ModelLimits {
    fn fit(&self, model: &str) -> bool {
        match self.models.strip_suffix('*') {
            None => self.models == model,
            Some(beginning) => model.starts_with(beginning),
        }
    }

    fn size(&self) -> u32 {
        self.at_once.unwrap_or(u32::MAX)
    }
}

#[derive(Debug)]
pub(super) struct Lane {
    pub(super) limits: ModelLimits,
    pub(super) pace: Pace,
    pub(super) queue: Arc<Queue>,
}

impl Lane {
    fn new(limits: &ModelLimits) -> Self {
        Self {
            pace: Pace::new(limits.pace, Instant::now()),
            queue: Queue::new(limits.size()),
            limits: limits.clone(),
        }
    }
}

/// The lane a model is in: the first that fits.
pub(super) fn lane_of<'l>(lanes: &'l [Lane], model: &str) -> Option<&'l Lane> {
    lanes.iter().find(|lane| lane.limits.fit(model))
}

pub(super) fn lane_named<'l>(lanes: &'l mut [Lane], models: &str) -> Option<&'l mut Lane> {
    lanes.iter_mut().find(|lane| lane.limits.models == models)
}

/// Takes over limits; whoever is in a lane that stays stays in it.
pub(super) fn configure(lanes: &mut Vec<Lane>, limits: &[ModelLimits]) {
    let mut old = std::mem::take(lanes);
    for wanted in limits {
        let known = old
            .iter()
            .position(|lane| lane.limits.models == wanted.models);
        let mut lane = known.map_or_else(|| Lane::new(wanted), |index| old.swap_remove(index));
        if lane.limits != *wanted {
            lane.queue.resize(wanted.size());
            lane.pace = Pace::new(wanted.pace, Instant::now());
            lane.limits = wanted.clone();
        }
        lanes.push(lane);
    }
}
